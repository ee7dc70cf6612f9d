import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { createLog } from "../../../receiver/operations/log.ts";
import { doctor } from "../../../receiver/operations/doctor.ts";
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
import { newDatabase, noServer, query, sharedServer } from "./server.ts";

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
        jobs: ["everything", "new"].map((name) => ({ handler: name, ...done })),
      });
    const sameKey = { object: { phone: "k" } };
    const [running = "", held = ""] = await accept(today, event(sameKey), event(sameKey));
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
    await query(owner, `GRANT CREATE ON DATABASE ${new URL(owner).pathname.slice(1)} TO ${name}`);
    // The tests' server does not sync; that must be the only problem reported.
    const { lines } = await examine(url);
    expect(lines.filter((line) => /^\w+ +database (?!.*(?:intact|fsync is off))/.test(line))).toEqual([]);
  });

  test("the database is not in UTF-8", async () => {
    const url = `${await newDatabase(false)}_latin1`;
    await query(
      await sharedServer(),
      `CREATE DATABASE ${new URL(url).pathname.slice(1)} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'`,
    );
    await expect(examine(url)).rejects.toThrow(/Use a database whose encoding is UTF8/);
  });

  test("the tables are of another version", async () => {
    const url = await newDatabase();
    await query(url, "COMMENT ON TABLE receiver.events IS '0'");
    await expect(examine(url)).rejects.toThrow(/not of this version\. Set DATABASE_SCHEMA/);
  });
});

test.skipIf(noServer())("DATABASE_SCHEMA names both schemas, and no others are created", async () => {
  const databaseUrl = await newDatabase(false);
  const store = await openPostgres(databaseUrl, { databaseSchema: "shop" });
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
