import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Logger, makeWorkerUtils, run, type Runner } from "graphile-worker";
import { Client, Pool } from "pg";
import { PgBoss } from "pg-boss";
import { systemClock } from "../receiver/clock.ts";
import type { Engine, NewEvent } from "../receiver/engine.ts";
import { openPostgresEngine } from "../receiver/engines/postgres/index.ts";
import { createServer } from "../tools/postgres-server.ts";

/**
 * The PostgreSQL engine beside what it is made of: acknowledgements beside one INSERT an event, and handled events
 * beside the jobs of graphile-worker and pg-boss, with the same payloads. A server of its own, which syncs.
 * Run it with `npm run bench -- postgres`.
 */
const EVENTS = Number(process.env["BENCH_EVENTS"] ?? 10_000);
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 3);
const CONNECTIONS = 64;
const CONCURRENCY = 64;
const BODY_BYTES = 1_024;
const TUNED = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
const CREATE_EFFECTS = "CREATE TABLE effects (event_id text, attempt integer)";
const silent = new Logger(() => () => undefined);

const directory = mkdtempSync(join(tmpdir(), "bench-postgres-"));
const server = await createServer(directory, {
  port: 20_000 + (process.pid % 20_000),
  settings: { fsync: "on", shared_buffers: "256MB", max_wal_size: "4GB" },
});

type Row = { name: string; measure: (url: string) => Promise<number> };

const acknowledged: Row[] = [
  { name: "engine, batches as they come", measure: acknowledge },
  { name: "the same rows, one event at a time", measure: acknowledgeEach },
  { name: "one INSERT an event, one table", measure: insertEach },
];
const handled: Row[] = [
  { name: "engine", measure: async (url) => handle(url, false) },
  { name: "graphile-worker, tuned", measure: async (url) => work(url, false, TUNED) },
  { name: "graphile-worker, as it comes", measure: async (url) => work(url, false, {}) },
  { name: "pg-boss, batches of 500", measure: async (url) => boss(url, false) },
];
const withEffect: Row[] = [
  { name: "engine, atomically", measure: async (url) => handle(url, true) },
  { name: "graphile-worker, tuned", measure: async (url) => work(url, true, TUNED) },
  { name: "graphile-worker, as it comes", measure: async (url) => work(url, true, {}) },
  { name: "pg-boss, batches of 500", measure: async (url) => boss(url, true) },
];

try {
  await compare(`Acknowledged a second, ${String(CONNECTIONS)} at a time`, acknowledged);
  await compare(`Handled a second, by a handler that does nothing`, handled);
  await compare(`Handled a second, by a handler that writes a row`, withEffect);
} finally {
  await server.stop("immediate");
  rmSync(directory, { recursive: true, force: true });
}

/** In turns, so that whatever else the machine does meets all of them; each in a database of its own. */
async function compare(title: string, rows: readonly Row[]): Promise<void> {
  const rates = new Map<string, number[]>();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { name, measure } of rows) {
      const database = `bench_${randomBytes(4).toString("hex")}`;
      await administer(`CREATE DATABASE ${database}`);
      rates.set(name, [...(rates.get(name) ?? []), await measure(server.url(database))]);
      await administer(`DROP DATABASE ${database} WITH (FORCE)`);
    }
  }
  process.stdout.write(
    `${title}: ${EVENTS.toLocaleString("en")} events of ${String(BODY_BYTES)} bytes, medians of ${String(ROUNDS)} rounds\n`,
  );
  const ours = median(rates.get(rows[0]?.name ?? "") ?? []);
  for (const { name } of rows) {
    const rate = median(rates.get(name) ?? []);
    const ratio = `ours is ${(ours / rate).toFixed(2)} ×`;
    process.stdout.write(
      `  ${name.padEnd(32)} ${Math.round(rate).toLocaleString("en").padStart(8)}  ${ratio}\n`,
    );
  }
}

async function acknowledge(url: string): Promise<number> {
  const engine = await open(url);
  const rate = await acknowledgeAll(engine, newEvents());
  await engine.close();
  return rate;
}

/** As the receiver's group commit does: what arrives while one batch is on its way is the next one. */
async function acknowledgeAll(engine: Engine, events: readonly NewEvent[]): Promise<number> {
  const startedAtMs = performance.now();
  for (let at = 0; at < events.length; at += CONNECTIONS) {
    const result = await engine.intake.accept(events.slice(at, at + CONNECTIONS));
    if (!result.ok) throw new Error(result.detail);
  }
  return perSecond(events.length, startedAtMs);
}

/** Without the batches: as many statements as events, as many at the same time as there are connections. */
async function acknowledgeEach(url: string): Promise<number> {
  const engine = await open(url);
  const events = newEvents();
  const startedAtMs = performance.now();
  let next = 0;
  const one = async (): Promise<void> => {
    for (let event = events[next++]; event !== undefined; event = events[next++]) {
      const result = await engine.intake.accept([event]);
      if (!result.ok) throw new Error(result.detail);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
  const rate = perSecond(EVENTS, startedAtMs);
  await engine.close();
  return rate;
}

async function insertEach(url: string): Promise<number> {
  const pool = poolOf(url, 10);
  await pool.query("CREATE TABLE events (id text PRIMARY KEY, type text NOT NULL, body bytea NOT NULL)");
  await Promise.all(Array.from({ length: 10 }, async () => pool.query("SELECT pg_sleep(0.05)")));
  const events = newEvents();
  const startedAtMs = performance.now();
  let next = 0;
  const one = async (): Promise<void> => {
    for (let event = events[next++]; event !== undefined; event = events[next++]) {
      const values = [event.id, event.type, event.body];
      await pool.query({
        name: "insert",
        text: "INSERT INTO events VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        values,
      });
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
  const rate = perSecond(EVENTS, startedAtMs);
  await pool.end();
  return rate;
}

async function handle(url: string, writes: boolean): Promise<number> {
  const engine = await open(url);
  const events = newEvents();
  for (let at = 0; at < events.length; at += 1_000) await engine.intake.accept(events.slice(at, at + 1_000));
  const { ended, count } = counter();
  const startedAtMs = performance.now();
  const processor = engine.work.process({
    workerId: "bench",
    concurrency: CONCURRENCY,
    handle: async (claim) => {
      if (!writes) return { kind: "done" };
      await claim.atomically(claim.signal)(async (db) =>
        db.query("INSERT INTO effects VALUES ($1, $2)", [claim.id, claim.attempt]),
      );
      return { kind: "done" };
    },
    onHandled: count,
    onTrouble: (error) => process.stderr.write(`${String(error)}\n`),
  });
  await ended;
  const rate = perSecond(EVENTS, startedAtMs);
  await processor.drain(1_000);
  await engine.close();
  return rate;
}

async function work(url: string, writes: boolean, tuning: Partial<typeof TUNED>): Promise<number> {
  const pool = poolOf(url, 14);
  await pool.query(CREATE_EFFECTS);
  const utils = await makeWorkerUtils({ pgPool: pool, logger: silent });
  await utils.migrate();
  const jobs = newEvents().map(({ id, body }) => ({
    identifier: "handle",
    payload: { id, body: body.toString() },
  }));
  for (let at = 0; at < jobs.length; at += 1_000) await utils.addJobs(jobs.slice(at, at + 1_000));
  const { ended, count } = counter();
  const startedAtMs = performance.now();
  const runner: Runner = await run({
    pgPool: pool,
    logger: silent,
    noHandleSignals: true,
    preset: {
      worker: {
        concurrentJobs: Object.keys(tuning).length > 0 ? CONCURRENCY : 1,
        pollInterval: 100,
        ...tuning,
      },
    },
    taskList: {
      handle: async (payload, helpers) => {
        const { id } = payload as { id: string };
        if (writes) await helpers.query("INSERT INTO effects VALUES ($1, $2)", [id, helpers.job.attempts]);
        count();
      },
    },
  });
  await ended;
  const rate = perSecond(EVENTS, startedAtMs);
  await runner.stop();
  await utils.release();
  await pool.end();
  return rate;
}

async function boss(url: string, writes: boolean): Promise<number> {
  const pool = poolOf(url, 10);
  await pool.query(CREATE_EFFECTS);
  const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false });
  boss.on("error", () => undefined);
  await boss.start();
  await boss.createQueue("handle");
  const jobs = newEvents().map(({ id, body }) => ({ data: { id, body: body.toString() } }));
  for (let at = 0; at < jobs.length; at += 1_000) await boss.insert("handle", jobs.slice(at, at + 1_000));
  const startedAtMs = performance.now();
  for (let left = EVENTS; left > 0;) {
    const batch = await boss.fetch<{ id: string }>("handle", { batchSize: 500 });
    if (writes) {
      await Promise.all(
        batch.map(async ({ data }) => pool.query("INSERT INTO effects VALUES ($1, 1)", [data.id])),
      );
    }
    await boss.complete(
      "handle",
      batch.map(({ id }) => id),
    );
    left -= batch.length;
  }
  const rate = perSecond(EVENTS, startedAtMs);
  await boss.stop({ graceful: false });
  await pool.end();
  return rate;
}

async function open(url: string): Promise<Engine> {
  return openPostgresEngine({
    url,
    clock: systemClock,
    retry: { maximumAttempts: 10, backoffMs: () => 5_000 },
    migrations: [{ handler: "bench", migrations: [CREATE_EFFECTS] }],
  });
}

function newEvents(): (NewEvent & { body: Buffer })[] {
  return Array.from({ length: EVENTS }, () => {
    const id = `evt_${randomBytes(16).toString("hex")}`;
    const objectId = `call_${randomBytes(12).toString("hex")}`;
    const body = Buffer.from(JSON.stringify({ id, padding: "x".repeat(BODY_BYTES - 60) }));
    return { id, type: "call.completed", objectId, source: "webhook" as const, body };
  });
}

function counter(): { ended: Promise<void>; count: () => void } {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  let left = EVENTS;
  return {
    ended,
    count: () => {
      left -= 1;
      if (left === 0) resolve();
    },
  };
}

/** Its database is dropped under it in the end. */
function poolOf(url: string, connections: number): Pool {
  const pool = new Pool({ connectionString: url, max: connections });
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

async function administer(sql: string): Promise<void> {
  const client = new Client({ connectionString: server.url() });
  await client.connect();
  await client.query(sql);
  await client.end();
}

function perSecond(events: number, startedAtMs: number): number {
  return (events / (performance.now() - startedAtMs)) * 1_000;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
