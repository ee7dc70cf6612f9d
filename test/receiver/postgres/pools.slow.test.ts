import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { accept, newEvent, newEvents, outcomeOf } from "../engine-suite/harness.ts";
import { signalled, until } from "../helpers/until.ts";
import { postgresBackend } from "./backend.ts";
import { driven, opened } from "./opened.ts";

test("an exhausted pool refuses what it can't serve in time, and serves again when there is room", async () => {
  const { url } = await postgresBackend();
  const engine = await opened(url, { times: { connectTimeoutMs: 2_000, acceptTimeoutMs: 3_000 } });
  const takesOne = async () =>
    until(
      () => engine.intake.accept([newEvent()]),
      ({ ok }) => ok,
    );
  await takesOne();
  const blocker = new Client({ connectionString: url });
  await blocker.connect();
  onTestFinished(async () => blocker.end());
  await blocker.query("BEGIN; LOCK TABLE receiver.ids IN ACCESS EXCLUSIVE MODE");
  const results = await Promise.all(
    Array.from({ length: 6 }, async () => engine.intake.accept([newEvent()])),
  );
  const reasons = results.map((result) => (result.ok ? "ok" : result.reason));
  expect(new Set(reasons)).toEqual(new Set(["overloaded", "timeout"]));
  await blocker.query("ROLLBACK");
  await takesOne();
});

test("a worker whose handlers use up their connections keeps neither acknowledgements nor operators waiting", async () => {
  const { url, rows } = await postgresBackend();
  const engine = await opened(url);
  await accept(engine, newEvents(HANDLERS_CONNECTIONS));
  const goOn = signalled();
  await driven(
    engine,
    async (claim) =>
      outcomeOf(
        claim.atomically(claim.signal)(async (db) => {
          await db.query("SELECT 1");
          await goOn.promise;
        }),
      ),
    { concurrency: HANDLERS_CONNECTIONS },
  );
  await until(
    () => rows(IN_TRANSACTION),
    ([row]) => row?.["connections"] === HANDLERS_CONNECTIONS,
  );
  expect(await engine.intake.accept(newEvents(5))).toMatchObject({ ok: true });
  // Not because one of them has ended: they may hold their connection for five seconds.
  expect(await rows(IN_TRANSACTION)).toEqual([{ connections: HANDLERS_CONNECTIONS }]);
  expect(await engine.intake.probe()).toMatchObject({ ok: true });
  expect((await engine.ledger.counts()).byState.claimed).toBe(HANDLERS_CONNECTIONS);
  goOn.give();
  await until(
    () => engine.ledger.counts(),
    ({ byState }) => byState.done === HANDLERS_CONNECTIONS + 5,
  );
});

test("the server ends what a lost client leaves behind: statements, waits for locks, idle transactions", async () => {
  const { url } = await postgresBackend();
  const engine = await opened(url);
  await accept(engine, [newEvent()]);
  const limits = signalled<unknown>();
  await driven(engine, async (claim) =>
    outcomeOf(claim.atomically(claim.signal)(async (db) => limits.give(await db.query(LIMITS)))),
  );
  expect(await limits.promise).toEqual([
    { name: "idle_in_transaction_session_timeout", setting: "15000" },
    { name: "lock_timeout", setting: "10000" },
    { name: "statement_timeout", setting: "30000" },
  ]);
});

/** As many as handlers have at the most, however many run at once. */
const HANDLERS_CONNECTIONS = 20;

const IN_TRANSACTION = `
  SELECT count(*)::int AS connections FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'voice-agent-receiver handlers' AND state = 'idle in transaction'`;
const LIMITS = `
  SELECT name, setting FROM pg_settings
  WHERE name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') ORDER BY name`;
