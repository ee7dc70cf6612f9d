import type { PlantedBug } from "./planted-bug.ts";

const SIMULATION = ["test/simulation/receiver.test.ts", "-t", "break no promise"];

/** The world needs more than a hundred seeds for these; each has a test of its own since. */
const RECONCILE = ["test/receiver/reconcile.test.ts"];
const RECONCILED = ["test/receiver/engines/sqlite.test.ts", "-t", "accepting what reconcile found"];
const PROCESSOR = ["test/receiver/engines/processor.test.ts"];
const STATEMENTS = ["test/receiver/engines/statement-faults.test.ts"];

/**
 * Bugs that show only when several parts of the receiver meet: the seeded world of service and receiver finds them,
 * or the failing of every statement in its turn.
 */
export const plantedInOneWorld: PlantedBug[] = [
  {
    what: "reconcile trusts that the receiver's clock was never behind the service's",
    file: "receiver/operations/reconcile.ts",
    find: "prunedBeforeMs + (SIGNATURE_TOLERANCE_SECONDS + 1) * 1_000",
    replace: "prunedBeforeMs",
    tests: RECONCILE,
  },
  {
    what: "reconcile does not notice that retention goes on while it looks",
    file: "receiver/operations/reconcile.ts",
    find: "    sinceMs = await findSince();\n    const missing",
    replace: "    const missing",
    tests: RECONCILE,
  },
  {
    what: "reconcile remembers a place before its objects are stored",
    file: "receiver/operations/reconcile.ts",
    find: "      await heal(batch, organizationId);\n      report.objectsRead += batch.length;",
    replace:
      "      if (!dryRun) await writeBookmark(list, { newestId: newestId ?? last.id, lastId: last.id });\n      await heal(batch, organizationId);\n      report.objectsRead += batch.length;",
    tests: SIMULATION,
  },
  {
    what: "a walk that goes on from its bookmark passes over what is new",
    file: "receiver/operations/reconcile.ts",
    find: "if (item.id !== resumed?.newestId) {",
    replace: "if (resumed === undefined) {",
    tests: RECONCILE,
  },
  {
    what: "the object that reconcile found is forgotten before its id",
    file: "receiver/engines/sqlite/retention.ts",
    find: "object_id = CASE source WHEN 'reconcile' THEN object_id END",
    replace: "object_id = NULL",
    tests: RECONCILED,
  },
  {
    what: "retention does not write down how far back it pruned",
    file: "receiver/engines/sqlite/retention.ts",
    find: "      remember.run(beforeMs);\n",
    replace: "",
    tests: SIMULATION,
  },
  {
    what: "retention deletes the work of events that keep their bodies",
    file: "receiver/engines/sqlite/retention.ts",
    find: "    forgetAll.immediate();\n    await write(() => countDeleted",
    replace: "    void write(() => countDeleted",
    tests: SIMULATION,
  },
  {
    what: "commits of the inbox are not synced",
    file: "receiver/engines/sqlite/inbox-file.ts",
    find: 'synchronous: "FULL"',
    replace: 'synchronous: "NORMAL"',
    tests: SIMULATION,
  },
  {
    what: "what reconcile finds is stored beside the service's own event",
    file: "receiver/engines/sqlite/accept.ts",
    find: "return seq === undefined ? insert(event, nowMs) : duplicateOf(seq, event, nowMs);",
    replace: "return insert(event, nowMs);",
    tests: RECONCILED,
  },
  {
    what: "the service's own event is stored beside what reconcile found",
    file: "receiver/engines/sqlite/accept.ts",
    find: "(reconciled ? sameAsReconciled(event, nowMs) : undefined) ?? insert(event, nowMs)",
    replace: "insert(event, nowMs)",
    tests: SIMULATION,
  },
  {
    what: "an end that could not be written down is given up",
    file: "receiver/engines/sqlite/processor.ts",
    find: "if (draining.signal.aborted) throw error;",
    replace: "throw error;",
    tests: PROCESSOR,
  },
  {
    what: "a worker that ends keeps what it had claimed",
    file: "receiver/engines/sqlite/processor.ts",
    find: "      for (const event of held()) claims.return(event);\n",
    replace: "",
    tests: ["test/receiver/engines/sqlite.test.ts", "-t", "workers that stop"],
  },
  {
    what: "a stopped worker's claims are taken while it stands, and it writes all the same",
    file: "receiver/engines/sqlite/claims.ts",
    find: "const HELD = `WHERE seq = ? AND token = ? AND state = 'claimed'`",
    replace: "const HELD = `WHERE seq = ? AND (? OR 1)`",
    tests: SIMULATION,
  },
  {
    what: "a signature of 301 seconds ago is taken",
    file: "shared/signature.ts",
    find: "if (ageSeconds > SIGNATURE_TOLERANCE_SECONDS)",
    replace: "if (ageSeconds > SIGNATURE_TOLERANCE_SECONDS * 13)",
    tests: SIMULATION,
  },
  {
    what: "what was claimed by a commit that said it had failed stays claimed",
    file: "receiver/engines/sqlite/processor.ts",
    find: "      claims.returnUnheard(worker, new Set(held().map(({ seq }) => seq)));\n",
    replace: "",
    tests: STATEMENTS,
  },
  {
    what: "an event that is being handled counts as unheard of",
    file: "receiver/engines/sqlite/processor.ts",
    find: "new Set(held().map(({ seq }) => seq))",
    replace: "new Set(batch.map(({ seq }) => seq))",
    tests: ["test/receiver/engines/sqlite-files.test.ts", "-t", "goes on giving its sign of life"],
  },
  {
    what: "a commit that fails is taken for one that succeeded",
    file: "receiver/engines/sqlite/transactions.ts",
    find: "      for (const { rolledBack } of group) rolledBack(error);\n      return;",
    replace: "",
    tests: STATEMENTS,
  },
  {
    what: "a group that failed stays open",
    file: "receiver/engines/sqlite/transactions.ts",
    find: "      if (db.inTransaction) rollback.run();\n",
    replace: "",
    tests: STATEMENTS,
  },
  {
    what: "a transaction that SQLite has ended by itself is undone a second time",
    file: "receiver/engines/sqlite/transactions.ts",
    find: "            if (!db.inTransaction) throw error;\n",
    replace: "",
    tests: STATEMENTS,
  },
  {
    what: "a commit that said it had failed, though it hadn't, leaves no word of it",
    file: "receiver/engines/sqlite/processor.ts",
    find: 'report(written ?? "lost", ending.error)',
    replace: 'report(written ?? "lost", written && ending.error)',
    tests: STATEMENTS,
  },
];
