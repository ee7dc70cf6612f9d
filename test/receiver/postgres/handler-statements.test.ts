import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { HOLD } from "../../../receiver/engines/postgres/claims.ts";
import { naming } from "../../../receiver/engines/postgres/connection.ts";
import { COMPLETE, SETTLE } from "../../../receiver/engines/postgres/jobs.ts";
import { administer } from "../../helpers/postgres/shared.ts";
import { accept, newEvent, newEvents, outcomeOf, record } from "../engine-suite/harness.ts";
import { signalled, until } from "../helpers/until.ts";
import { postgresBackend } from "./backend.ts";
import { driven, opened } from "./opened.ts";

test("a table that changes between two attempts costs its handlers none", async () => {
  const { url } = await postgresBackend();
  const engine = await opened(url);
  const { handled } = await driven(
    engine,
    async (claim) =>
      outcomeOf(claim.atomically(claim.signal)(async (db) => db.query("SELECT * FROM effects"))),
    { concurrency: 1 },
  );
  const handledOf = async (): Promise<string[]> => {
    const event = newEvent();
    await accept(engine, [event]);
    const ended = await until(
      () => handled.filter(({ id }) => id === event.id),
      (all) => all.at(-1)?.outcome === "done",
    );
    return ended.map(({ outcome, error }) => error ?? outcome);
  };
  expect(await handledOf()).toEqual(["done"]);
  await administer(url, "ALTER TABLE receiver_handlers.effects ADD COLUMN more text");
  expect(await handledOf()).toEqual(["done"]);
});

test("handling changes no row of an event, so that its body is written once", async () => {
  const { url, rows } = await postgresBackend();
  const engine = await opened(url);
  const { handled } = await driven(engine, async (claim) =>
    claim.attempt === 1 ? { kind: "failed", error: "not yet" } : record(claim),
  );
  // Events that come before anybody wants them are offered later, which is written to them.
  await until(
    () => engine.ledger.handlers(),
    ({ length }) => length === 1,
  );
  await accept(engine, newEvents(3));
  const versions = async (): Promise<unknown> => rows("SELECT xmin, ctid FROM receiver.events ORDER BY seq");
  const before = await versions();
  await until(
    () => handled,
    ({ length }) => length === 6,
  );
  expect(handled.filter(({ outcome }) => outcome === "done")).toHaveLength(3);
  expect(await versions()).toEqual(before);
});

test("a handler's own statements may read tables from end to end, as ours never do", async () => {
  const { url } = await postgresBackend();
  const engine = await opened(url);
  await accept(engine, [newEvent()]);
  const seen: unknown[] = [];
  const ask = "SELECT current_setting('enable_seqscan') AS allowed";
  const { handled } = await driven(engine, async (claim) =>
    outcomeOf(
      claim.atomically(claim.signal)(async (db) => seen.push(await db.query(ask), await db.query(ask))),
    ),
  );
  await until(
    () => handled,
    ({ length }) => length === 1,
  );
  expect(seen).toEqual([[{ allowed: "on" }], [{ allowed: "on" }]]);
});

test("a value that can't be sent leaves no transaction open, nor one for the next handler", async () => {
  const { url, rows } = await postgresBackend();
  const engine = await opened(url);
  const circular: { self?: unknown } = {};
  circular.self = circular;
  await accept(engine, [newEvent()]);
  const { handled } = await driven(engine, async (claim) =>
    outcomeOf(
      claim.atomically(claim.signal)(async (db) => {
        await db.query("INSERT INTO effects VALUES ($1, $2)", [
          claim.id,
          // What a handler without types may do.
          claim.attempt === 1 ? (circular as never) : claim.attempt,
        ]);
      }),
    ),
  );
  await until(
    () => handled.map(({ outcome }) => outcome),
    (outcomes) => outcomes.join() === "failed,done",
  );
  expect(await rows("SELECT attempt FROM effects")).toEqual([{ attempt: 2 }]);
  expect(
    await rows(
      `SELECT pid FROM pg_stat_activity WHERE state LIKE 'idle in%' AND datname = current_database()`,
    ),
  ).toEqual([]);
});

test("a transaction begins once, with the first of the statements sent at once; without any the event is done", async () => {
  const { url, rows } = await postgresBackend();
  const engine = await opened(url);
  const events = newEvents(6);
  await accept(engine, events);
  const answers: unknown[] = [];
  const { handled } = await driven(
    engine,
    async (claim) =>
      outcomeOf(
        claim.atomically(claim.signal)(async (db) => {
          if (claim.id === events[0]?.id) return;
          answers.push(
            await Promise.all([
              db.query("INSERT INTO effects VALUES ($1, 1) RETURNING attempt", [claim.id]),
              db.query("INSERT INTO effects VALUES ($1, 2)", [claim.id]),
              db.query("SELECT count(*)::int AS mine FROM effects WHERE event_id = $1", [claim.id]),
              db.query("INSERT INTO effects VALUES ($1, 1) RETURNING attempt", [claim.id]),
            ]),
          );
        }),
      ),
    { concurrency: 6 },
  );
  await until(
    () => handled.length,
    (length) => length === events.length,
  );
  expect(handled.map(({ outcome }) => outcome)).toEqual(events.map(() => "done"));
  expect(answers).toEqual(
    Array.from({ length: 5 }, () => [[{ attempt: 1 }], [], [{ mine: 2 }], [{ attempt: 1 }]]),
  );
  expect(await rows("SELECT count(*)::int AS effects FROM effects")).toEqual([{ effects: 15 }]);
});

test("of a statement that failed unawaited, the job says what it failed of", async () => {
  const { url } = await postgresBackend();
  const engine = await opened(url);
  const event = newEvent();
  await accept(engine, [event]);
  const { handled } = await driven(
    engine,
    async (claim) =>
      outcomeOf(
        claim.atomically(claim.signal)(async (db) => {
          db.query("INSERT INTO no_such_table VALUES (1)").catch(() => undefined);
        }),
      ),
    { maximumAttempts: 1 },
  );
  await until(
    () => handled.length,
    (length) => length === 1,
  );
  expect(handled).toMatchObject([{ outcome: "dead", error: expect.stringContaining("no_such_table") }]);
});

test("a claim ends by its event's key: the index of what is claimed can't be taken for it", async () => {
  const { url } = await postgresBackend();
  const { client, planOf } = await planning(url);
  // Without the key there is only that index, if it would do at all.
  await client.query(
    "BEGIN; ALTER TABLE receiver_boss.job DROP CONSTRAINT job_pkey; SET enable_seqscan = off",
  );
  expect(await planOf(COMPLETE)).not.toMatch(/state_id_idx/);
  expect(await planOf(SETTLE)).not.toMatch(/state_id_idx/);
  // The control: for who looks for them it does.
  expect(await planOf("SELECT FROM boss.job WHERE state = 'active' AND id = $1")).toMatch(/state_id_idx/);
});

test("a claim that is planned while the inbox is empty finds its events by their key, however many come", async () => {
  const { url } = await postgresBackend();
  const { planOf } = await planning(url);
  const plan = await planOf(HOLD);
  expect(plan).toMatch(/Index Scan (using|on) events_pkey/);
  expect(plan).not.toMatch(/Seq Scan on events/);
  // The control: a join alone reads the table from end to end.
  const joined = "SELECT body FROM generate_series(1, $1) AS wanted JOIN receiver.events ON seq = wanted";
  expect(await planOf(joined)).toMatch(/Seq Scan on events/);
});

test("a claim takes a few large events, and gives the others back as they were", async () => {
  const { url } = await postgresBackend();
  const engine = await opened(url);
  const events = newEvents(20, { body: Buffer.alloc(1_048_576, " ") });
  for (const event of events) await accept(engine, [event]);
  const begun = { all: 0, byFirstClaim: 0 };
  const { handled } = await driven(
    engine,
    async () => {
      begun.all += 1;
      // What one claim brought begins at once; the next one takes the server a few turns.
      if (begun.all === 1) setImmediate(() => (begun.byFirstClaim = begun.all));
      return { kind: "done" };
    },
    { concurrency: events.length },
  );
  await until(
    () => handled.length,
    (length) => length >= events.length,
  );
  expect(begun).toEqual({ all: events.length, byFirstClaim: 8 });
  expect(new Set(handled.map(({ attempt, outcome }) => `${String(attempt)} ${outcome}`))).toEqual(
    new Set(["1 done"]),
  );
});

test("a worker that holds an event twice commits for the later claim alone", async () => {
  const { url, rows } = await postgresBackend();
  const engine = await opened(url);
  await accept(engine, [newEvent()]);
  const begun = [signalled(), signalled()];
  const goOn = [signalled(), signalled()];
  const { handled } = await driven(engine, async (claim) => {
    begun[claim.attempt - 1]?.give();
    await goOn[claim.attempt - 1]?.promise;
    return record(claim);
  });
  await begun[0]?.promise;
  await administer(url, "UPDATE receiver_boss.job SET state = 'retry'");
  await begun[1]?.promise;
  goOn[0]?.give();
  await until(
    () => handled.length,
    (length) => length === 1,
  );
  expect(await rows("SELECT attempt FROM effects")).toEqual([]);
  goOn[1]?.give();
  await until(
    () => handled.length,
    (length) => length === 2,
  );
  expect(handled.map(({ attempt, outcome }) => `${String(attempt)} ${outcome}`)).toEqual([
    "1 lost",
    "2 done",
  ]);
  expect(await rows("SELECT attempt FROM effects")).toEqual([{ attempt: 2 }]);
});

test("what a handler wrote before it threw is not committed by the next one on its connection", async () => {
  const { url, rows } = await postgresBackend();
  const engine = await opened(url);
  await accept(engine, newEvents(1));
  const { handled } = await driven(
    engine,
    async (claim) =>
      outcomeOf(
        claim.atomically(claim.signal)(async (db) => {
          await db.query("INSERT INTO effects VALUES ($1, $2)", [claim.id, claim.attempt]);
          if (claim.attempt === 1) throw new Error("Changed its mind.");
        }),
      ),
    { concurrency: 1 },
  );
  await until(
    () => handled.map(({ outcome }) => outcome),
    (outcomes) => outcomes.join() === "failed,done",
  );
  expect(await rows("SELECT attempt FROM effects")).toEqual([{ attempt: 2 }]);
});

/** A connection, and how it would run a statement, whatever its values. */
async function planning(url: string) {
  const client = new Client({ connectionString: url });
  await client.connect();
  onTestFinished(async () => client.end());
  const planOf = async (statement: string): Promise<string> =>
    JSON.stringify((await client.query(`EXPLAIN (GENERIC_PLAN) ${naming("receiver")(statement)}`)).rows);
  return { client, planOf };
}
