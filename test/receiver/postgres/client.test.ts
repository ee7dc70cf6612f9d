import { Client, Pool, type PoolClient } from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import { createDatabase, refusalOf, type Database } from "../../../receiver/postgres/connection.ts";
import { createSchema } from "../../../receiver/postgres/schema.ts";
import { createReceiver, defineHandler } from "../../../receiver/index.ts";
import type { HandlerDatabase } from "../../../receiver/store/port.ts";
import { SIGNATURE_HEADER } from "../../../shared/signature.ts";
import { newBody, SECRET, signatureFor } from "../helpers/events.ts";
import { until } from "../helpers/until.ts";
import {
  accept,
  atomically,
  acceptAndClaim,
  claimOne,
  effects,
  event,
  handler,
  jobOf,
  never,
  openWorker,
  writeEffect,
} from "../store-suite/harness.ts";
import { openPostgres, postgresBackend } from "./backend.ts";
import { newDatabase, noServer, query } from "./server.ts";

function clientOf({ client }: HandlerDatabase): PoolClient {
  if (typeof client !== "object" || client === null || !("query" in client)) throw new Error("no client");
  return client as PoolClient;
}

describe.skipIf(noServer())("the pg client of atomically", () => {
  test("writes tables of the app together with done, or not at all", async () => {
    const backend = await postgresBackend();
    await query(
      backend.url,
      "DROP TABLE IF EXISTS orders; CREATE TABLE orders (id text, paid boolean, doc jsonb)",
    );
    const store = await openWorker(backend);
    const [id = ""] = await accept(store, event());
    const job = await claimOne(store);
    // As ORMs do, which also release what they were given.
    const write = async (db: HandlerDatabase) => {
      const client = clientOf(db);
      await client.query({ text: "INSERT INTO orders VALUES ($1, $2)", values: [id, true] });
      for (const name of ["release", "end", "connect"] as const) void client[name]();
      await client.query("UPDATE orders SET doc = $1", [{ a: [1] }]);
    };
    const failing = atomically(store, job, async (db) => {
      await write(db);
      await clientOf(db).query("SELECT 1 / 0");
    });
    await expect(failing).rejects.toThrow("division by zero");
    expect(await query(backend.url, "SELECT * FROM orders")).toEqual([]);

    await atomically(store, job, write);
    expect(await query(backend.url, "SELECT * FROM orders")).toEqual([{ id, paid: true, doc: { a: [1] } }]);
    expect(await jobOf(store, id)).toMatchObject({ state: "done" });
    // db.query returns the app's columns as on SQLite.
    const others = `'2026-03-01T00:00:00Z'::timestamptz AS at, '2026-03-01 10:00'::timestamp AS local, '2026-03-01'::date AS day,
      9007199254740993 AS big, 5::bigint AS small, '{"b":  1}'::json AS text, NOT paid AS unpaid`;
    const at = { at: "2026-03-01T00:00:00.000Z", local: "2026-03-01T10:00:00.000Z", day: "2026-03-01" };
    const values = { big: 9_007_199_254_740_993n, small: 5, text: '{"b":  1}', unpaid: 0 };
    const found = await store.jobs.query(`SELECT paid, doc, ${others} FROM orders`);
    expect(found).toEqual([{ paid: 1, doc: '{"a":[1]}', ...at, ...values }]);
  });

  test.each(["COMMIT", "begin", "SAVEPOINT s"])("cannot end the transaction: %s", async (sql) => {
    const backend = await postgresBackend();
    const store = await openWorker(backend);
    const [id = ""] = await accept(store, event());
    const job = await claimOne(store);
    const outcome = atomically(store, job, async (db) =>
      clientOf(db)
        .query(sql)
        .catch(() => 0),
    );
    await expect(outcome).rejects.toThrow(/refused here/);
    expect(await jobOf(store, id)).toMatchObject({ state: "running" });
  });
});

/** Errors of sockets begin with E or have no code; the others are the server's, which have a severity. */
const REASONS = `
  ECONNREFUSED connection_lost, ENOTFOUND connection_lost, ECONNRESET outcome_unknown, 25006 read_only, 53100 full, 53300 overloaded,
  57014 timeout, 57P03 connection_lost, 57P01 outcome_unknown, 08006 connection_lost, 58030 io_error, XX001 corrupt, 40001 busy`;

test.each(REASONS.split(",").map((pair) => pair.trim().split(" ")))(
  "an error %s refuses as %s",
  (code, reason) => {
    const error = Object.assign(
      new Error("no"),
      { code },
      code?.startsWith("E") ? {} : { severity: "ERROR" },
    );
    const detail: unknown = expect.stringMatching(new RegExp(`^no \\(${code}\\)`));
    expect(refusalOf(error)).toEqual({ ok: false, reason, detail });
    expect(refusalOf(new Error("no"))).toEqual({ ok: false, reason: "outcome_unknown", detail: "no" });
  },
);

test("a server older than PostgreSQL 13, and a pool of another package, are refused", async () => {
  const run = async () => [{ isThere: 0, schema: null, version: 129_999 }] as never;
  const old = { schema: "receiver", run } as unknown as Database;
  await expect(createSchema(old)).rejects.toThrow("PostgreSQL 12 is too old. Use 13 or newer.");
  expect(() => createDatabase("postgres://h/db", "receiver", { query: 1 })).toThrow("must be a Pool");
});

test.skipIf(noServer())("two that start at once on a new database create its tables once", async () => {
  const url = await newDatabase(false);
  const stores = await Promise.all([openPostgres(url), openPostgres(url)]);
  for (const store of stores) expect(await store.intake.accept([event()])).toMatchObject({ ok: true });
  await Promise.all(stores.map(async (store) => store.close()));
});

test.skipIf(noServer())("a start that waits for another sees the tables that it made", async () => {
  const url = await newDatabase(false);
  const other = new Client(url);
  await other.connect();
  await other.query("BEGIN; SELECT pg_advisory_xact_lock(hashtext('receiver'))");
  const opening = openPostgres(url);
  const waiting = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
  await until(async () => (await other.query(waiting)).rowCount === 1);
  await other.query(
    "CREATE SCHEMA receiver; CREATE TABLE receiver.events (); COMMENT ON TABLE receiver.events IS '1'; COMMIT",
  );
  await other.end();
  await expect(opening.then(async (store) => store.close())).resolves.toBeUndefined();
});

test.skipIf(noServer())("a transaction over 5 s is rolled back, and its job continues", async () => {
  const backend = await postgresBackend();
  // Its limit of 5 s is 0.1 s here.
  const clock: Clock = { ...systemClock, after: (ms, run) => systemClock.after(ms / 50, run) };
  const store = await openPostgres(backend.url, { clock });
  onTestFinished(async () => store.close());
  await store.jobs.begin([handler()], never);
  const job = await acceptAndClaim(store);
  const slow = atomically(store, job, async (db) => {
    await writeEffect(db, job);
    await db.query("SELECT pg_sleep(1)");
  });
  await expect(slow).rejects.toThrow(/took over 5 s and was rolled back/);
  expect(await effects(backend)).toEqual([]);
  expect(await store.jobs.end(job, { kind: "done" })).toBe(true);
});

test.skipIf(noServer())("an app's own pool serves its receiver, which does not end it", async () => {
  const url = await newDatabase();
  const pool = new Pool({ connectionString: url, max: 4 });
  onTestFinished(async () => pool.end());
  const handled: string[] = [];
  const receiver = await createReceiver({
    databaseUrl: url,
    pool,
    signingSecrets: [SECRET],
    environment: { LOG_LEVEL: "silent" },
    handlers: [defineHandler({ name: "all", type: "*", handle: ({ id }) => void handled.push(id) })],
  });
  const body = newBody();
  const headers = { [SIGNATURE_HEADER]: signatureFor(body) };
  const answer = await receiver.fetch(new Request("http://app/webhooks", { method: "POST", body, headers }));
  expect(answer.status).toBe(200);
  await expect.poll(() => handled.length, { timeout: 9_000 }).toBe(1);
  await receiver.stop();
  expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
});
