import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import type { Claim, JobHandler, Outcome } from "../../../receiver/engine.ts";
import { openSqliteEngine } from "../../../receiver/engines/sqlite/index.ts";
import { handler } from "../engine-suite/harness.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { until } from "../helpers/until.ts";

/** Both files as the version before jobs made them: one row of work for an event, and tables known by types of events. */
const INBOX = `
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, type TEXT NOT NULL, object_id TEXT,
    source TEXT NOT NULL CHECK (source IN ('webhook', 'reconcile')), received_at_ms INTEGER NOT NULL,
    duplicates INTEGER NOT NULL DEFAULT 0, handled INTEGER, body BLOB
  ) STRICT;
  CREATE INDEX events_reconciled ON events (object_id, type) WHERE source = 'reconcile';
  CREATE TABLE aliases (key BLOB PRIMARY KEY, seq INTEGER NOT NULL, received_at_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE bookmarks (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
  CREATE TABLE identity (pair TEXT NOT NULL, pruned_before_ms INTEGER NOT NULL) STRICT;
  INSERT INTO identity VALUES ('pair', 0);
  PRAGMA user_version = 1`;
const WORK = `
  CREATE TABLE work (
    seq INTEGER PRIMARY KEY,
    state TEXT NOT NULL CHECK (
      state = 'pending' OR state = 'claimed' OR state = 'done' OR state = 'ignored' OR state = 'dead' OR state = 'pruned'),
    attempts INTEGER NOT NULL, token INTEGER NOT NULL, worker INTEGER, due_at_ms INTEGER,
    crashes INTEGER NOT NULL DEFAULT 0, handled INTEGER NOT NULL DEFAULT 0, finished_at_ms INTEGER, last_error TEXT
  ) STRICT;
  CREATE INDEX work_due ON work (due_at_ms) WHERE state = 'pending';
  CREATE INDEX work_claimed ON work (worker) WHERE state = 'claimed';
  CREATE INDEX work_set_aside ON work (state, seq) WHERE state IN ('dead', 'ignored');
  CREATE TABLE workers (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, beat INTEGER NOT NULL, lease_until_ms INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE position (seq INTEGER NOT NULL, deleted INTEGER NOT NULL, pair TEXT NOT NULL) STRICT;
  CREATE TABLE handler_migrations (handler TEXT PRIMARY KEY, applied INTEGER NOT NULL) STRICT;
  INSERT INTO handler_migrations VALUES ('order.created', 1), ('call.completed', 0);
  CREATE TABLE orders (event_id TEXT);
  INSERT INTO workers (id, beat, lease_until_ms) VALUES ('crashed', 7, 0);
  PRAGMA user_version = 1`;

const KEYS = { done: "01", dead: "02", ignored: "03", waits: "04", claimed: "05", arrived: "06" };
const NOW_MS = Date.now();

function openedBefore(): string {
  const file = join(temporaryDirectory(), "receiver.db");
  const inbox = new Database(file);
  inbox.pragma("journal_mode = WAL");
  inbox.exec(INBOX);
  const insert = inbox.prepare(
    "INSERT INTO events (key, type, source, received_at_ms, body) VALUES (?, ?, 'webhook', ?, ?)",
  );
  for (const [name, key] of Object.entries(KEYS)) {
    const type = name === "ignored" ? "call.pondered" : "order.created";
    insert.run(Buffer.alloc(16, key, "hex"), type, NOW_MS - 60_000, Buffer.from(JSON.stringify({ name })));
  }
  inbox.close();
  const work = new Database(file.replace(".db", ".work.db"));
  work.pragma("journal_mode = WAL");
  work.exec(WORK);
  work.exec(`
    INSERT INTO work (seq, state, attempts, token, worker, due_at_ms, handled, finished_at_ms, last_error) VALUES
      (1, 'done', 1, 1, NULL, NULL, 1, ${String(NOW_MS)}, NULL),
      (2, 'dead', 10, 10, NULL, NULL, 0, ${String(NOW_MS)}, 'no such table'),
      (3, 'ignored', 1, 1, NULL, NULL, 0, ${String(NOW_MS)}, NULL),
      (4, 'pending', 3, 3, NULL, ${String(NOW_MS - 1)}, 0, NULL, 'POS down'),
      (5, 'claimed', 2, 2, 1, NULL, 0, NULL, NULL);
    INSERT INTO position VALUES (5, 0, 'pair')`);
  work.close();
  return file;
}

const idOf = (name: keyof typeof KEYS): string => `evt_${KEYS[name].repeat(16)}`;

describe("files of the version before jobs", () => {
  const kitchen = handler({
    name: "kitchen",
    types: ["order.created"],
    migrations: ["CREATE TABLE orders (event_id TEXT)", "ALTER TABLE orders ADD COLUMN created TEXT"],
  });
  const archive = handler({ name: "archive", types: "*" });

  async function work(file: string, handlers: JobHandler[]) {
    const engine = await openSqliteEngine({ file, clock: systemClock });
    const claims: Claim[] = [];
    const processor = await engine.work.process({
      handlers,
      workerId: "new",
      concurrency: 4,
      handle: async (claim): Promise<Outcome> => {
        claims.push(claim);
        return { kind: "done" };
      },
      onHandled: () => undefined,
      onTrouble: (error) => expect.unreachable(String(error)),
    });
    onTestFinished(engine.close);
    onTestFinished(async () => processor.drain(0));
    const finished = async (): Promise<unknown> =>
      until(
        () => engine.ledger.counts(),
        ({ byState }) => byState.pending + byState.claimed === 0,
      );
    await finished();
    const attempts = (): string[] =>
      claims.map(({ handler: name, body, attempt }) => `${name} ${String(attempt)} ${body}`).toSorted();
    return { engine, attempts, finished };
  }

  test("keep what is finished, and become jobs of all who want it where it is not, with its attempts", async () => {
    const { engine, attempts } = await work(openedBefore(), [kitchen, archive]);
    expect(attempts()).toEqual([
      `archive 1 {"name":"arrived"}`,
      `archive 3 {"name":"claimed"}`,
      `archive 4 {"name":"waits"}`,
      `kitchen 1 {"name":"arrived"}`,
      `kitchen 3 {"name":"claimed"}`,
      `kitchen 4 {"name":"waits"}`,
    ]);
    const { ledger } = engine;
    expect((await ledger.counts()).byState).toEqual({ pending: 0, claimed: 0, done: 4, ignored: 1, dead: 1 });
    expect(await ledger.find(idOf("done"))).toMatchObject({
      state: "done",
      handled: 1,
      attempts: 1,
      jobs: [{ handler: "order.created", state: "done" }],
    });
    expect(await ledger.find(idOf("dead"))).toMatchObject({
      state: "dead",
      attempts: 10,
      lastError: "no such table",
    });
    expect(await ledger.find(idOf("ignored"))).toMatchObject({ state: "ignored", jobs: [] });
    expect(await ledger.find(idOf("waits"))).toMatchObject({
      state: "done",
      attempts: 4,
      jobs: [{ handler: "archive" }, { handler: "kitchen" }],
    });
    expect(await ledger.check?.()).toEqual([]);
  });

  test("have nothing handled twice, whatever is requeued, and what was dead or ignored offered to all", async () => {
    const { engine, attempts, finished } = await work(openedBefore(), [kitchen, archive]);
    const before = attempts();
    const all = Object.keys(KEYS).map((name) => idOf(name as keyof typeof KEYS));
    expect(await engine.ledger.requeue([idOf("done")])).toBe(0);
    expect(await engine.ledger.requeue([idOf("done")], "kitchen")).toBe(0);
    expect(await engine.ledger.requeue(all)).toBe(2);
    await finished();
    const more = attempts().filter((attempt) => !before.includes(attempt));
    expect(more).toEqual([
      `archive 1 {"name":"dead"}`,
      `archive 1 {"name":"ignored"}`,
      `kitchen 1 {"name":"dead"}`,
    ]);
    expect(await engine.ledger.find(idOf("dead"))).toMatchObject({
      state: "done",
      handled: 1,
      lastError: null,
    });
    expect(await engine.ledger.check?.()).toEqual([]);
  });

  test("stay dead for the others where what was dead is requeued for one", async () => {
    const { engine, finished } = await work(openedBefore(), [kitchen, archive]);
    expect(await engine.ledger.requeue([idOf("dead")], "archive")).toBe(1);
    await finished();
    const jobs = [
      { handler: "archive", state: "done", lastError: null },
      { handler: "kitchen", state: "dead", attempts: 10, lastError: "no such table" },
    ];
    expect(await engine.ledger.find(idOf("dead"))).toMatchObject({ state: "dead", jobs });
    expect(await engine.ledger.requeue([idOf("dead")])).toBe(1);
    await finished();
    expect(await engine.ledger.find(idOf("dead"))).toMatchObject({ state: "done" });
    expect(await engine.ledger.check?.()).toEqual([]);
  });

  test("have a handler of the one type go on with its tables, and retention with what is finished", async () => {
    const file = openedBefore();
    const { engine } = await work(file, [kitchen, archive]);
    const db = new Database(file.replace(".db", ".work.db"), { readonly: true });
    expect(db.prepare("SELECT event_id, created FROM orders").all()).toEqual([]);
    db.close();
    expect(await engine.ledger.prune({ bodiesOlderThanMs: 0, idsOlderThanMs: 1e12 })).toEqual({
      bodies: 5,
      ids: 0,
    });
    expect(await engine.ledger.find(idOf("done"))).toMatchObject({ state: "pruned", handled: 1 });
    expect(await engine.ledger.find(idOf("dead"))).toMatchObject({ state: "dead" });
    expect(await engine.ledger.check?.()).toEqual([]);
  });
});
