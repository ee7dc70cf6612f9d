import type { PlantedBug } from "./planted-bug.ts";

/** Bugs in the move from SQLite to PostgreSQL. */
export const plantedInMove: PlantedBug[] = [
  {
    what: "what comes while a move compares is called different",
    file: "receiver/engines/move.ts",
    find: "from.after(seq, BATCH).filter((event) => event.seq <= arrivedSeq);",
    replace: "from.after(seq, BATCH);",
    tests: ["test/receiver/postgres/move-beside.test.ts"],
  },
  {
    what: "a moved event is handled before the old receiver lets go of it",
    file: "receiver/engines/postgres/arriving.ts",
    find: "CASE WHEN finished THEN state ELSE 'claimed' END, attempts, 1,",
    replace: "state, attempts, 1,",
    tests: ["test/receiver/postgres/move.test.ts"],
  },
  {
    what: "a move forgets how far it has come",
    file: "receiver/engines/postgres/arriving.ts",
    find: "ON CONFLICT (name) DO UPDATE SET value = excluded.value\n  )\n",
    replace: "ON CONFLICT (name) DO NOTHING\n  )\n",
    tests: ["test/receiver/postgres/move.test.ts"],
  },
  {
    what: "the move's lease ends like any other",
    file: "receiver/engines/postgres/arriving.ts",
    find: "VALUES ($1, NULL, 'infinity')",
    replace: "VALUES ($1, NULL, clock_timestamp())",
    tests: ["test/receiver/postgres/move.test.ts"],
  },
  {
    what: "what is unfinished is handed over before the end",
    file: "receiver/engines/move.ts",
    find: "if (!event || (!finish && !isFinished(event.state))) return [];",
    replace: "if (!event) return [];",
    tests: ["test/receiver/postgres/move.test.ts"],
  },
  {
    what: "a move closes an inbox that is still at work",
    file: "receiver/engines/move.ts",
    find: "if (alive.length > 0) {",
    replace: "if (alive.length > 1) {",
    tests: ["test/receiver/postgres/move.test.ts"],
  },
  {
    what: "a moved inbox can be started again",
    file: "receiver/engines/sqlite/work-file.ts",
    find: "if (movedTo !== undefined) throw new Moved(inbox.name, movedTo);",
    replace: "",
    tests: ["test/receiver/postgres/move.test.ts"],
  },
  {
    what: "bodies that differ are called the same",
    file: "receiver/engines/move.ts",
    find: 'if (arrived.hash !== createHash("sha256").update(event.body).digest("hex")) return false;',
    replace: "",
    tests: ["test/receiver/postgres/move.test.ts"],
  },
];
