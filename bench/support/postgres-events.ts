import { randomBytes } from "node:crypto";
import { Pool } from "pg";
import { systemClock } from "../../receiver/clock.ts";
import type { Engine, JobHandler, NewEvent } from "../../receiver/engine.ts";
import { openPostgresEngine } from "../../receiver/engines/postgres/index.ts";

/** What all contenders for PostgreSQL have in common. */
export const EVENTS = Number(process.env["BENCH_EVENTS"] ?? 10_000);
/** Requests, or jobs, at the same time. */
export const CONCURRENCY = 64;
export const BODY_BYTES = 1_024;
/** Connections in the pool of contenders that insert by themselves. */
export const CONNECTIONS = 10;
export const CREATE_EFFECTS = "CREATE TABLE IF NOT EXISTS effects (event_id text, attempt integer)";

export async function openEngine(url: string): Promise<Engine> {
  return openPostgresEngine({ databaseUrl: url, clock: systemClock });
}

/** The handler that all of ours are measured by. */
export const BENCH_HANDLER: JobHandler = {
  name: "bench",
  types: "*",
  migrations: [CREATE_EFFECTS],
  maximumAttempts: 10,
  backoffMs: () => 5_000,
  concurrency: 1_000,
  rateLimit: undefined,
  key: undefined,
};

/** Makes it known that there is a handler, so that each event gets a job. */
export async function announce(engine: Engine): Promise<void> {
  const processor = await engine.work.process({
    handlers: [BENCH_HANDLER],
    workerId: "announcing",
    concurrency: 1,
    handle: async () => ({ kind: "done" }),
    onHandled: () => undefined,
    onTrouble: () => undefined,
  });
  await processor.drain(0);
}

export function newEvents(count = EVENTS): (NewEvent & { body: Buffer })[] {
  return Array.from({ length: count }, () => {
    const id = `evt_${randomBytes(16).toString("hex")}`;
    const objectId = `call_${randomBytes(12).toString("hex")}`;
    const body = Buffer.from(JSON.stringify({ id, padding: "x".repeat(BODY_BYTES - 60) }));
    return { id, type: "call.completed", objectId, source: "webhook" as const, body, trace: null };
  });
}

/** Runs `work` for each of `events`, as many at the same time as there are requests. Answers how many a second. */
export async function eachOf<One>(
  events: readonly One[],
  work: (event: One) => Promise<unknown>,
): Promise<number> {
  const startedAtMs = performance.now();
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let event = events[next++]; event !== undefined; event = events[next++]) await work(event);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, lane));
  return perSecond(events.length, startedAtMs);
}

/** Resolves when `count` was called `left` times. */
export function counter(left: number): { ended: Promise<void>; count: () => void } {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  return {
    ended,
    count: () => {
      left -= 1;
      if (left === 0) resolve();
    },
  };
}

/** A pool with all its connections open. Its errors are ignored: its database is dropped while it is open. */
export async function openPool(url: string, connections: number): Promise<Pool> {
  const pool = new Pool({ connectionString: url, max: connections });
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  await Promise.all(Array.from({ length: connections }, async () => pool.query("SELECT pg_sleep(0.05)")));
  return pool;
}

export function perSecond(events: number, startedAtMs: number): number {
  return (events / (performance.now() - startedAtMs)) * 1_000;
}

/** Has the server write now what making tables has left behind, so that nobody's measurement pays for it. */
export async function checkpoint(url: string): Promise<void> {
  const pool = await openPool(url, 1);
  await pool.query("CHECKPOINT");
  await pool.end();
}
