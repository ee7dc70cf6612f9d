import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAccept } from "../../../receiver/engines/sqlite/accept.ts";
import { createTransactions } from "../../../receiver/engines/sqlite/transactions.ts";
import { handler, newEvents } from "../engine-suite/harness.ts";
import { standingClock } from "../helpers/clock.ts";
import { announcedParts, openFiles } from "../helpers/parts.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { until } from "../helpers/until.ts";

describe("a commit that several share", () => {
  /** What refers to nothing is found out by the commit, and by nothing before it. */
  function setUp() {
    const db = new Database(":memory:");
    onTestFinished(() => void db.close());
    db.exec(`
      PRAGMA foreign_keys = ON;
      CREATE TABLE calls (id INTEGER PRIMARY KEY);
      CREATE TABLE notes (call_id INTEGER REFERENCES calls (id) DEFERRABLE INITIALLY DEFERRED)`);
    const note = db.prepare<[number]>("INSERT INTO notes VALUES (?)");
    const call = db.prepare<[number]>("INSERT INTO calls VALUES (?)");
    const calls = db.prepare<[], number>("SELECT id FROM calls").pluck();
    // Time stands still: what comes together shares a commit, however slow the machine is.
    const clock = standingClock();
    return { note, call, calls, clock, transactions: createTransactions(db, clock) };
  }

  test("fails all of them when it fails, and nothing of it stays", async () => {
    const { note, call, calls, transactions } = setUp();
    const outcomes = await Promise.allSettled([
      transactions.run(() => call.run(1)),
      transactions.run(async () => call.run(2)),
      transactions.run(() => note.run(7)),
      transactions.run(async () => call.run(3)),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => "rejected"));
    expect(calls.all()).toEqual([]);
    await transactions.run(() => call.run(4));
    expect(calls.all()).toEqual([4]);
  });

  test("goes on without an attempt that fails", async () => {
    const { call, calls, transactions } = setUp();
    const outcomes = await Promise.allSettled([
      transactions.run(async () => call.run(1)),
      transactions.run(async () => {
        call.run(2);
        throw new Error("not this one");
      }),
      transactions.run(() => call.run(3)),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(calls.all()).toEqual([1, 3]);
  });

  test.for([
    { tookMs: 9, first: "rejected" },
    { tookMs: 10, first: "fulfilled" },
  ])("is not waited for once it has taken 10 ms: after $tookMs", async ({ tookMs, first }) => {
    const { note, call, clock, transactions } = setUp();
    const outcomes = await Promise.allSettled([
      transactions.run(async () => {
        call.run(1);
        await clock.pass(tookMs);
      }),
      transactions.run(() => note.run(7)),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual([first, "rejected"]);
  });

  test("is that of 256 at the most", async () => {
    const { note, call, calls, transactions } = setUp();
    const outcomes = await Promise.allSettled([
      ...Array.from({ length: 255 }, async (_, index) => transactions.run(() => call.run(index))),
      transactions.run(() => note.run(2_000)),
      transactions.run(() => call.run(1_000)),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual([
      ...Array.from({ length: 256 }, () => "rejected"),
      "fulfilled",
    ]);
    expect(calls.all()).toEqual([1_000]);
  });
});

describe("while another process holds the write lock", () => {
  function setUp() {
    const file = join(temporaryDirectory(), "receiver.db");
    const [other, db] = [new Database(file), new Database(file, { timeout: 0 })];
    onTestFinished(() => void [other, db].map((one) => one.close()));
    other.exec("CREATE TABLE calls (id INTEGER PRIMARY KEY); BEGIN IMMEDIATE");
    const insert = db.prepare<[number]>("INSERT INTO calls VALUES (?)");
    const clock = standingClock();
    const transactions = createTransactions(db, clock);
    const ended: Record<number, string> = {};
    const add = (id: number): void =>
      void transactions
        .run(() => insert.run(id))
        .then(
          () => (ended[id] = "done"),
          (error: unknown) => (ended[id] = String(error)),
        );
    return { other, clock, add, ended };
  }

  test("a transaction waits for it, and is done as soon as it is free", async () => {
    const { other, clock, add, ended } = setUp();
    add(1);
    await clock.pass(7_999);
    expect(ended).toEqual({});
    other.exec("COMMIT");
    await clock.pass(20);
    expect(ended).toEqual({ 1: "done" });
    expect(clock.waiting()).toBe(0);
  });

  test("a transaction fails after 8 s, and what waits behind it has as long", async () => {
    const { other, clock, add, ended } = setUp();
    add(1);
    add(2);
    await clock.pass(0);
    await clock.pass(7_999);
    expect(ended).toEqual({});
    await clock.pass(1);
    const locked = "SqliteError: database is locked";
    expect(ended).toEqual({ 1: locked });
    await clock.pass(7_000);
    add(3);
    other.exec("COMMIT");
    await clock.pass(20);
    expect(ended).toEqual({ 1: locked, 2: "done", 3: "done" });
  });

  test("what fails for another reason is not waited with", async () => {
    const { other, clock, add, ended } = setUp();
    other.exec("DROP TABLE calls; COMMIT");
    add(1);
    await clock.pass(0);
    await clock.pass(0);
    expect(ended).toEqual({ 1: "SqliteError: no such table: calls" });
  });
});

test("a handler's transaction is ended after five seconds, and lets the others go on", async () => {
  const { inbox, db } = openFiles(join(temporaryDirectory(), "receiver.db"));
  const clock = standingClock();
  const parts = announcedParts({ db, inbox, clock, policies: [handler()] });
  createAccept(inbox)(newEvents(1), 0);
  const claims = parts.claims.claim({
    nowMs: 0,
    worker: () => 1,
    limit: 1,
    room: () => 1,
    suspects: "later",
  });
  const [job] = claims.claimed;
  const { signal } = new AbortController();
  let written = false;
  const onWritten = (): void => void (written = true);

  let failure: unknown;
  let begun = false;
  const { promise: never } = Promise.withResolvers<void>();
  const lingering = parts
    .transact(job!, { signal, lost: signal, onWritten }, async () => {
      begun = true;
      return never;
    })
    .catch((error: unknown) => (failure = error));
  await until(
    () => begun,
    (yes) => yes,
  );
  await clock.pass(4_999);
  expect(failure).toBeUndefined();
  await clock.pass(1);
  await lingering;
  expect(failure).toMatchObject({ name: "TransactionTooLong" });
  expect(written).toBe(false);
  expect(await parts.transactions.run(() => parts.settling.return(job!))).toBe(true);
});
