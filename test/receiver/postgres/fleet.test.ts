import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { Client, Pool } from "pg";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import { createLog } from "../../../receiver/operations/log.ts";
import { doctor } from "../../../receiver/operations/doctor.ts";
import { openServerStore } from "../../../receiver/postgres/index.ts";
import type { HandlerDatabase, Job, Store } from "../../../receiver/store/port.ts";
import { defineHandler } from "../../../receiver/work/handler.ts";
import { startWorker } from "../../../receiver/work/worker.ts";
import { newEventId } from "../helpers/events.ts";
import { testConfig } from "../helpers/receiver.ts";
import { until } from "../helpers/until.ts";
import {
  accept,
  atomically,
  claim,
  claimOne,
  event,
  handleAll,
  handler,
  jobOf,
  never,
  openWorker,
  writeEffect,
} from "../store-suite/harness.ts";
import { openPostgres, postgresBackend } from "./backend.ts";
import { newDatabase, noServer, query } from "./server.ts";

const YESTERDAY = [handler({ types: ["call.completed"], maximumAttempts: 1 })];
const TODAY = [handler({ key: ["data.object.phone"] }), handler({ name: "new" })];

describe.skipIf(noServer())("a rolling deploy", () => {
  test("an older worker started again removes no handler, and changes no type and no key", async () => {
    const backend = await postgresBackend();
    let old = await openWorker(backend, YESTERDAY);
    const today = await openWorker(backend, TODAY);
    const ids: string[] = [];
    for (let round = 0; round < 6; round += 1) {
      const orders = Array.from({ length: 6 }, (_, n) =>
        event({ type: "order.created", object: { phone: `k${String(n % 3)}` } }),
      );
      ids.push(...(await accept(today, ...orders)));
      await Promise.all([handleAll(old), handleAll(today), handleAll(today, "new")]);
      if (round % 2 === 0) continue;
      await old.close();
      old = await openWorker(backend, YESTERDAY);
    }
    await handleAll(old);
    expect(await today.ledger.handlers()).toEqual([
      { name: "everything", types: "*" },
      { name: "new", types: "*" },
    ]);
    const done = { state: "done", handled: 1, attempts: 1 };
    for (const id of ids)
      expect(await today.ledger.find(id)).toMatchObject({
        jobs: [
          { handler: "everything", ...done },
          { handler: "new", ...done },
        ],
      });
    const [running = "", held = ""] = await accept(
      today,
      event({ object: { phone: "k" } }),
      event({ object: { phone: "k" } }),
    );
    expect((await claimOne(old)).id).toBe(running);
    expect(await jobOf(today, held)).toMatchObject({ held: true });
  });

  test("a handler that gets a key gets old and new jobs in turn, no more than it has slots", async () => {
    const backend = await postgresBackend();
    const before = await accept(await openWorker(backend, YESTERDAY), event(), event());
    const today = await openWorker(backend, TODAY);
    const [after] = await accept(today, event({ object: { phone: "k" } }));
    const next = async () => (await claim(today, "everything", 1)).map(({ id }) => id);
    expect([await next(), await next(), await next()]).toEqual([[before[0]], [after], [before[1]]]);
  });

  test("a worker of an older version fails no attempt of a handler that it does not know", async () => {
    const backend = await postgresBackend();
    const today = await openWorker(backend, TODAY);
    const [id = ""] = await accept(today, event());
    await claimOne(today, "new");
    await claimOne(today);
    await backend.kill(today);
    const old = await openWorker(backend, YESTERDAY);
    // It ends an attempt of a handler that it has, also in the new queue; by its own policy it was the last one.
    expect(await jobOf(old, id)).toMatchObject({ state: "dead" });
    expect(await jobOf(old, id, "new")).toMatchObject({ state: "running", attempts: 1 });
    const next = await openWorker(backend, TODAY);
    expect(await jobOf(next, id, "new")).toMatchObject({ state: "waiting", attempts: 1 });
  });
});

async function openWith(clock: Clock, options: { pool?: Pool; onCutOff?: (problem: string) => void } = {}) {
  const backend = await postgresBackend();
  const { url: databaseUrl } = backend;
  const store = await openServerStore({
    databaseUrl,
    clock,
    isWorker: true,
    onFatal: () => undefined,
    ...options,
  });
  onTestFinished(async () => store.close());
  const policies = [handler({ backoffMs: () => 0 })];
  await store.jobs.begin(policies, never);
  await accept(store, event());
  const job = await claimOne(store);
  const age = async (seconds: number) =>
    query(
      databaseUrl,
      `UPDATE receiver.job SET heartbeat_on = heartbeat_on - interval '${String(seconds)} s'`,
    );
  return { databaseUrl, store, job, age, join: async () => openWorker(backend, policies) };
}

describe.skipIf(noServer())("a worker that", () => {
  test("lives keeps its job", async () => {
    const { databaseUrl, store, job, age, join } = await openWith(systemClock);
    await age(20);
    const beating = "SELECT FROM receiver.job WHERE heartbeat_on > now() - interval '12 s'";
    await until(async () => (await query(databaseUrl, beating)).length === 1);
    await join();
    expect(await jobOf(store, job.id)).toMatchObject({ state: "running", attempts: 1 });
  });

  test("lives announces its handlers again each minute, and so they never count as gone", async () => {
    // Its timers fire after a five-hundredth of the time.
    const after: Clock["after"] = (ms, run) => systemClock.after(ms / 500, run);
    const { databaseUrl } = await openWith({ ...systemClock, after });
    await query(databaseUrl, "UPDATE receiver.handlers SET seen_at = seen_at - interval '9 min'");
    const seen = "SELECT FROM receiver.handlers WHERE seen_at > now() - interval '1 min'";
    await expect.poll(async () => query(databaseUrl, seen)).toHaveLength(2);
  });

  test("was cut off cannot change its successor's attempt", async () => {
    // It writes no heartbeat, because its clock stands still.
    const { databaseUrl, store, job, age, join } = await openWith({
      ...systemClock,
      after: () => () => undefined,
    });
    await age(31);
    const other = await join();
    const next = await claimOne(other);
    expect(next.attempt).toBe(2);
    await expect(store.jobs.recordStep(job, "charge", "1")).rejects.toThrow(/no longer this attempt's/);
    const late = atomically(store, job, async (db) => writeEffect(db, job));
    await expect(late).rejects.toThrow(/no longer this attempt's/);
    expect(await store.jobs.end(job, { kind: "dead", error: "late" })).toBe(false);
    expect(await other.jobs.end(next, { kind: "done" })).toBe(true);
    expect(await jobOf(other, job.id)).toMatchObject({ state: "done", errors: [{ attempt: 1 }] });
    expect(await query(databaseUrl, "SELECT FROM receiver_handlers.effects")).toEqual([]);
  });

  test("loses the connection of a transaction has written nothing, also on the app's own pool", async () => {
    const { url } = await postgresBackend();
    const pool = new Pool({ connectionString: url });
    onTestFinished(async () => pool.end());
    const { databaseUrl, store, job } = await openWith(systemClock, { pool });
    const write = async (db: HandlerDatabase): Promise<void> => {
      await writeEffect(db, job);
      const [{ pid } = {}] = await db.query("SELECT pg_backend_pid() AS pid");
      await query(url, `SELECT pg_terminate_backend(${String(pid)}, 9000)`);
      await db.query("SELECT 1");
    };
    await expect(atomically(store, job, write)).rejects.toThrow(/terminat|not queryable/);
    expect(await query(databaseUrl, "SELECT FROM receiver_handlers.effects")).toEqual([]);
    expect(await store.jobs.end(job, { kind: "done" })).toBe(true);
  });

  test.each([
    ["running, is cut off, since another may begin it after 25", async () => false],
    ["ended, goes on", async (store: Store, job: Job) => store.jobs.end(job, { kind: "done" })],
    [
      "done by its transaction, goes on",
      async (store: Store, job: Job) =>
        atomically(store, job, async (db) => writeEffect(db, job)).then(() => true),
    ],
  ])("can write no heartbeat for 20 s, its job %s", async (_, end) => {
    let nowMs = 0;
    const timers = new Set<{ atMs: number; run: () => void }>();
    const after: Clock["after"] = (ms, run) => {
      const timer = { atMs: nowMs + ms, run };
      timers.add(timer);
      return () => timers.delete(timer);
    };
    const { url } = await postgresBackend();
    const pool = new Pool({ connectionString: url });
    const problems: string[] = [];
    const onCutOff = (problem: string): void => void problems.push(problem);
    const { store, job } = await openWith({ ...systemClock, after }, { pool, onCutOff });
    const isDone = await end(store, job);
    // Its first round is over: now the next one, and the cut-off.
    await until(() => timers.size === 2);
    await pool.end();
    for (nowMs = 1_000; nowMs <= 20_000; nowMs += 1_000) {
      expect(problems).toEqual([]);
      for (const timer of timers) if (timer.atMs <= nowMs && timers.delete(timer)) timer.run();
      await setImmediate();
    }
    expect(problems.map((one) => one.includes("no heartbeat for 20 s"))).toEqual(isDone ? [] : [true]);
  });
});

test.skipIf(noServer())(
  "two that take the same events in opposite orders at the same time do not wait for each other in a circle",
  async () => {
    const url = await newDatabase();
    // Each row takes so long that both run at the same time.
    await query(
      url,
      `CREATE FUNCTION rest() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END $$;
       CREATE TRIGGER rests BEFORE INSERT ON receiver.events FOR EACH ROW EXECUTE FUNCTION rest()`,
    );
    const stores = [await openPostgres(url), await openPostgres(url)];
    const sent = [event(), event(), event(), event()];
    const orders = [sent, sent.toReversed()];
    const taken = await Promise.all(orders.map(async (some, n) => stores[n]?.intake.accept(some)));
    expect(taken).toMatchObject([{ ok: true }, { ok: true }]);
    for (const store of stores) await store.close();
  },
);

test.skipIf(noServer())("an acknowledged event is on disk under any settings", async () => {
  const url = await newDatabase();
  await query(
    url,
    `DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET synchronous_commit = off'; END $$;
     CREATE TABLE seen (setting text);
     CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$;
     CREATE TRIGGER sees AFTER INSERT ON receiver.events FOR EACH ROW EXECUTE FUNCTION see()`,
  );
  const store = await openPostgres(url);
  await accept(store, event());
  await store.close();
  expect(await query(url, "SELECT setting FROM seen")).toEqual([{ setting: "on" }]);
});

const examine = async (url: string) =>
  doctor({ config: testConfig({ DATABASE_URL: url, RECEIVER_ROLE: "ingest" }) });

describe.skipIf(noServer())("doctor says what to do if", () => {
  test("the role may not create the schemas, and starts once it may", async () => {
    const owner = await newDatabase(false);
    const name = `role_${randomBytes(6).toString("hex")}`;
    await query(owner, `CREATE ROLE ${name} LOGIN`);
    const url = owner.replace(/\/\/[^@]*@/, `//${name}@`);
    await expect(examine(url)).rejects.toThrow(/permission denied.*The role needs CREATE on the database/s);
    await query(
      owner,
      `DO $$ BEGIN EXECUTE 'GRANT CREATE ON DATABASE ' || current_database() || ' TO ${name}'; END $$`,
    );
    // The tests' server does not sync; that must be the only problem reported.
    const { lines } = await examine(url);
    expect(lines.filter((line) => /^\w+ +database (?!.*(?:intact|fsync is off))/.test(line))).toEqual([]);
  });

  test("the tables are of another version", async () => {
    const url = await newDatabase();
    await query(url, "COMMENT ON TABLE receiver.events IS '0'");
    await expect(examine(url)).rejects.toThrow(/not of this version\. Set DATABASE_SCHEMA/);
  });
});

test.skipIf(noServer())("DATABASE_SCHEMA names both schemas, and no others are created", async () => {
  const databaseUrl = await newDatabase(false);
  const store = await openServerStore({
    databaseUrl,
    databaseSchema: "shop",
    clock: systemClock,
    isWorker: true,
    onFatal: () => undefined,
  });
  onTestFinished(async () => store.close());
  await store.jobs.begin([handler({ key: ["data.object.phone"] })], never);
  const [first = "", second = ""] = await accept(store, event({ object: { phone: "a" } }), event());
  await accept(store, event({ id: first }));
  const job = await claimOne(store);
  await store.jobs.recordStep(job, "charge", "1");
  expect(await store.jobs.findStep(job, "charge")).toBe("1");
  await atomically(store, job, async (db) => writeEffect(db, job));
  await store.jobs.end(await claimOne(store), { kind: "dead", error: "no" });
  expect(await store.ledger.requeue([second])).toBe(1);
  expect(await store.ledger.discard([second], { reason: "test" })).toBe(1);
  expect(await store.ledger.list({ state: "ignored" }, { limit: 5 })).toHaveLength(1);
  expect(await store.ledger.counts()).toMatchObject({ events: 2 });
  const later = Date.now() + 60_000;
  expect(await store.ledger.prune({ bodiesMs: later, idsMs: 0 })).toEqual({ bodies: 2, ids: 0 });
  const schemas = "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_)' ORDER BY 1";
  expect((await query(databaseUrl, schemas)).map(({ nspname }) => nspname)).toEqual([
    "public",
    "shop",
    "shop_handlers",
  ]);
  expect(await query(databaseUrl, "SELECT event_id FROM shop_handlers.effects")).toEqual([
    { event_id: first },
  ]);
});

test.skipIf(noServer())(
  "an idle worker of twelve handlers sends at most 5 statements a second, and one of its connections listens",
  { timeout: 120_000 },
  async () => {
    const url = await newDatabase();
    const store = await openPostgres(url);
    const done = new Set<string>();
    const names = Array.from({ length: 12 }, (_, n) => `h${String(n)}`);
    const worker = await startWorker({
      store,
      clock: systemClock,
      log: createLog({ level: "silent", secrets: [] }),
      clean: (text) => text,
      random: Math.random,
      config: { ...testConfig(), handlerTimeoutMs: 10_000, maximumAttempts: 9, workerConcurrency: 4 },
      handlers: names.map((name) =>
        defineHandler({ name, type: `${name}.came`, handle: ({ type }) => void done.add(type) }),
      ),
      onEnded: () => undefined,
      onStuck: () => undefined,
    });
    // Their events arrive one after another, so that the workers do not all poll at the same time.
    for (const name of names) {
      const [id, type] = [newEventId(), `${name}.came`];
      const envelope = { id, type, created: 1, api_version: "v1", org_id: "org_1", data: { object: {} } };
      await accept(store, event({ id, type, envelope }));
      await until(() => done.has(`${name}.came`));
    }
    const listening = "FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    const ended = await query(url, `SELECT pid, pg_terminate_backend(pid) ${listening}`);
    expect(ended).toHaveLength(1);
    await until(
      async () => query(url, `SELECT pid ${listening}`),
      (others) => others.length === 1 && others[0]?.["pid"] !== ended[0]?.["pid"],
    );
    const sent = vi.spyOn(Client.prototype, "query");
    onTestFinished(() => sent.mockRestore());
    const fromMs = performance.now();
    await until(() => sent.mock.calls.length >= 8);
    expect(8 / ((performance.now() - fromMs) / 1_000)).toBeLessThan(5);
    await worker.drain(1_000);
    await store.close();
  },
);
