import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { Acceptance, Claim, Handled, NewEvent, Outcome } from "../../../receiver/engine.ts";
import { createAccept } from "../../../receiver/engines/sqlite/accept.ts";
import { createParts } from "../../../receiver/engines/sqlite/index.ts";
import { openInboxFile } from "../../../receiver/engines/sqlite/inbox-file.ts";
import { createLedgerVerbs } from "../../../receiver/engines/sqlite/ledger-verbs.ts";
import { createProcessor } from "../../../receiver/engines/sqlite/processor.ts";
import { openWorkFile, workFileOf } from "../../../receiver/engines/sqlite/work-file.ts";
import { crashing } from "../../simulation/crashing-database.ts";
import { handler, newEvent } from "../engine-suite/harness.ts";
import { makeDirectory } from "../helpers/temporary.ts";
import { hurriedClock } from "../helpers/clock.ts";

/** What a receiver does with its files; in each of these a statement fails. */
export const PHASES = ["migrate", "accept", "process", "requeue", "reconcile", "prune"] as const;
type Phase = (typeof PHASES)[number];

/**
 * `before`: the statement does nothing. `rolled back`: SQLite ends the whole transaction by itself, as it may when it
 * runs out of room. `after`: a commit that succeeded all the same.
 */
export const MANNERS = ["before", "rolled back", "after"] as const;

export type Trouble = { phase: Phase; nth: number; code: string; manner: (typeof MANNERS)[number] };

const DAY_MS = 86_400_000;
const CREATE_EFFECTS = "CREATE TABLE effects (event_id TEXT)";
const POLICIES = [
  handler({
    name: "effects",
    types: ["writes", "fails first", "gives up", "plain"],
    migrations: [CREATE_EFFECTS],
    maximumAttempts: 3,
    backoffMs: () => 1_000,
  }),
  // One of its own for some, with a key, so that jobs are held and let go.
  handler({ name: "second", types: ["writes"], backoffMs: () => 1_000, key: () => "all in order" }),
];
const MOST_TRIES = 5;
const MOST_TURNS = 3_000;

/**
 * A small life of a receiver: events come, are handled, requeued, found by reconcile and pruned. The `nth` statement of
 * `phase` fails with the error `code`; whoever asked for something asks again. Answers whether there was an `nth`.
 * Throws when something acknowledged was lost, was handled twice, or an error went unsaid.
 */
export async function playTroubled(trouble: Trouble): Promise<boolean> {
  const directory = makeDirectory();
  const clock = hurriedClock();
  let phase: Phase | undefined;
  let statements = 0;
  let struck = false;
  let said = 0;
  const strike = (db: Database.Database, sql: string, isAfter: boolean): void => {
    if (phase !== trouble.phase || struck) return;
    const isCommit = /^\s*COMMIT/i.test(sql);
    if (isAfter !== (trouble.manner === "after" && isCommit)) return;
    statements += 1;
    if (statements < trouble.nth) return;
    struck = true;
    if (trouble.manner === "rolled back" && db.inTransaction) db.exec("ROLLBACK");
    throw new Database.SqliteError("injected", trouble.code);
  };
  const troubled = (db: Database.Database): Database.Database =>
    crashing(
      db,
      (sql) => strike(db, sql, false),
      (sql) => strike(db, sql, true),
    );
  /** Whoever asked asks again, as senders, operators and the next hour do. */
  async function insist<Result>(name: Phase, ask: () => Result | Promise<Result>): Promise<Result> {
    phase = name;
    for (let tries = 1; ; tries += 1) {
      try {
        const result = await ask();
        phase = undefined;
        return result;
      } catch (error) {
        said += 1;
        if (tries === MOST_TRIES) throw error;
      }
    }
  }

  const file = join(directory, "receiver.db");
  const opened: Database.Database[] = [];
  /** As each thread of the receiver has its own. */
  function open() {
    const inbox = openInboxFile({ file, busyTimeoutMs: 0 });
    const db = openWorkFile({ file: workFileOf(file), inbox, busyTimeoutMs: 0 });
    opened.push(inbox, db);
    return { inbox, db, troubled: { inbox: troubled(inbox), db: troubled(db) } };
  }
  const watching = open();
  const { inbox, db } = open().troubled;
  try {
    const parts = createParts({ db, inbox, clock, policies: POLICIES });
    await insist("migrate", async () => parts.transactions.run(() => parts.handlers.announce()));
    const accept = createAccept(inbox);
    const ledger = createLedgerVerbs({ ...open().troubled, clock });
    const watcher = createLedgerVerbs({ ...watching, clock });
    const handled: Handled[] = [];
    const acknowledged: string[] = [];
    const take = async (name: Phase, events: NewEvent[]): Promise<Acceptance[]> => {
      const acceptances = await insist(name, () => accept(events, clock.nowMs()));
      acknowledged.push(...events.map(({ id }) => id));
      return acceptances;
    };

    /** Handles until nothing is left. */
    async function work(): Promise<void> {
      const processor = createProcessor(parts, {
        handlers: POLICIES,
        workerId: `worker ${String(clock.nowMs())}`,
        concurrency: 2,
        handle,
        onHandled: (one) => void handled.push(one),
        onTrouble: () => void (said += 1),
      });
      phase = "process";
      for (let turns = 0; (await unfinished()) > 0; turns += 1) {
        if (turns === MOST_TURNS) assert.fail(JSON.stringify(await watcher.list({}, { limit: 20 })));
        await clock.turn();
      }
      await processor.drain(1_000).catch(() => (said += 1));
      phase = undefined;
    }
    const unfinished = async (): Promise<number> => {
      const { pending, claimed } = (await watcher.counts()).byState;
      return pending + claimed;
    };

    const kinds = ["writes", "writes", "fails first", "gives up", "nobody's", "plain"];
    const events = kinds.map((type) => newEvent({ type, objectId: type }));
    await take("accept", events);
    await take("accept", [...events.slice(0, 2), newEvent({ type: "writes" })]);
    await work();
    const dead = events[3]?.id ?? "";
    const requeued = await insist("requeue", async () => ledger.requeue([dead, events[0]?.id ?? ""]));
    // What was done before the error came is not done again.
    assert.ok(requeued === 1 || struck, "requeue");
    await work();
    const found = newEvent({ type: "writes", objectId: "found", source: "reconcile" });
    await insist("reconcile", () => ledger.known("writes", ["found", "writes"]));
    await take("reconcile", [found, newEvent({ type: "plain", objectId: "plain", source: "reconcile" })]);
    await take("reconcile", [newEvent({ type: "writes", objectId: "found" })]);
    await insist("reconcile", () => ledger.setBookmark("calls", "here"));
    await work();
    await check({ pruned: false });
    clock.move(40 * DAY_MS);
    const older = { bodiesOlderThanMs: 30 * DAY_MS, idsOlderThanMs: 35 * DAY_MS };
    await take("accept", [newEvent({ type: "plain" })]);
    await work();
    await insist("prune", async () => ledger.prune(older));
    await check({ pruned: true });
    // A lock is waited for without a word, and what a handler's own statement said is the handler's error.
    const isSaid = said > 0 || handled.some(({ error }) => error?.includes("injected"));
    const isWaitedFor = /BUSY|LOCKED/.test(trouble.code);
    assert.ok(!struck || isSaid || isWaitedFor, "an error went unsaid");
    return struck;

    /** One effect for each event that writes one, nothing unfinished, and everything there until it is pruned. */
    async function check({ pruned }: { pruned: boolean }): Promise<void> {
      const effects = watching.db.prepare<[], string>("SELECT event_id FROM effects").pluck().all();
      assert.equal(effects.length, new Set(effects).size, "handled twice");
      assert.equal(effects.length, 5, "handled");
      assert.equal((await watcher.find(dead))?.state, "dead", "a dead letter");
      for (const id of acknowledged) assert.ok(pruned || (await watcher.find(id)), `${id} was acknowledged`);
      assert.deepEqual(watching.db.pragma("integrity_check", { simple: true }), "ok");
      assert.deepEqual(watching.inbox.pragma("integrity_check", { simple: true }), "ok");
      const bodies = watching.inbox.prepare<[], number>("SELECT count(*) FROM events WHERE body IS NOT NULL");
      if (pruned) assert.equal(bodies.pluck().get(), 2, "the dead letter and the newest keep their bodies");
    }
  } finally {
    for (const db of opened) db.close();
    rmSync(directory, { recursive: true, force: true });
  }

  async function handle(claim: Claim): Promise<Outcome> {
    if (claim.handler === "second") return { kind: "done" };
    if (claim.type === "gives up") return { kind: "dead", error: "hopeless" };
    if (claim.type === "plain") return { kind: "done" };
    if (claim.type === "fails first" && claim.attempt === 1) return { kind: "failed", error: "once" };
    try {
      await claim.atomically(claim.signal)(async (db) => {
        await db.query("INSERT INTO effects VALUES ($1)", [claim.id]);
      });
      return { kind: "done" };
    } catch (error) {
      return { kind: "failed", error: String(error) };
    }
  }
}
