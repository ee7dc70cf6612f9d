import { Logger, makeWorkerUtils, run, type Runner } from "graphile-worker";
import { PgBoss } from "pg-boss";
import type { Claim, Outcome } from "../../receiver/engine.ts";
import {
  checkpoint,
  CONCURRENCY,
  counter,
  CREATE_EFFECTS,
  EVENTS,
  newEvents,
  openEngine,
  openPool,
  perSecond,
} from "./postgres-events.ts";

/** As many as a worker of ours has for handlers, claims and jobs. */
const CONNECTIONS = 26;
const BATCH = 500;
export const TUNED = { localQueue: { size: BATCH }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
const INSERT_EFFECT = "INSERT INTO effects VALUES ($1, $2)";
const silent = new Logger(() => () => undefined);

/** What the engine hands to a handler that does nothing, or that writes a row. */
export async function effect(claim: Claim, writes: boolean): Promise<Outcome> {
  if (!writes) return { kind: "done" };
  await claim.atomically(claim.signal)(async (db) => db.query(INSERT_EFFECT, [claim.id, claim.attempt]));
  return { kind: "done" };
}

/** What everybody has done before the clock starts: connections are open then, and statements prepared. */
const WARM_UP = 500;

export async function handle(url: string, writes: boolean): Promise<number> {
  const engine = await openEngine(url);
  const handleAll = async (count: number): Promise<number> => {
    const events = newEvents(count);
    for (let at = 0; at < count; at += 1_000) await engine.intake.accept(events.slice(at, at + 1_000));
    const handled = counter(count);
    const startedAtMs = performance.now();
    const processor = engine.work.process({
      workerId: `bench ${String(count)}`,
      concurrency: CONCURRENCY,
      handle: async (claim) => effect(claim, writes),
      onHandled: handled.count,
      onTrouble: (error) => process.stderr.write(`${String(error)}\n`),
    });
    await handled.ended;
    const rate = perSecond(count, startedAtMs);
    await processor.drain(1_000);
    return rate;
  };
  await handleAll(WARM_UP);
  await checkpoint(url);
  const rate = await handleAll(EVENTS);
  await engine.close();
  return rate;
}

export async function work(
  url: string,
  writes: boolean,
  tuning: Partial<typeof TUNED>,
  events = EVENTS,
): Promise<number> {
  const pool = await openPool(url, CONNECTIONS);
  await pool.query(CREATE_EFFECTS);
  const utils = await makeWorkerUtils({ pgPool: pool, logger: silent });
  await utils.migrate();
  const workAll = async (count: number): Promise<number> => {
    const jobs = newEvents(count).map(({ id, body }) => ({
      identifier: "handle",
      payload: { id, body: body.toString() },
    }));
    for (let at = 0; at < count; at += 1_000) await utils.addJobs(jobs.slice(at, at + 1_000));
    const worked = counter(count);
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
          if (writes) await helpers.query(INSERT_EFFECT, [id, helpers.job.attempts]);
          worked.count();
        },
      },
    });
    await worked.ended;
    const rate = perSecond(count, startedAtMs);
    await runner.stop();
    return rate;
  };
  await workAll(Math.min(WARM_UP, events / 5));
  await checkpoint(url);
  const rate = await workAll(events);
  await utils.release();
  await pool.end();
  return rate;
}

export async function boss(url: string, writes: boolean): Promise<number> {
  const pool = await openPool(url, CONNECTIONS);
  await pool.query(CREATE_EFFECTS);
  const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false });
  boss.on("error", () => undefined);
  await boss.start();
  await boss.createQueue("handle");
  const bossAll = async (count: number): Promise<number> => {
    const jobs = newEvents(count).map(({ id, body }) => ({ data: { id, body: body.toString() } }));
    for (let at = 0; at < count; at += 1_000) await boss.insert("handle", jobs.slice(at, at + 1_000));
    const startedAtMs = performance.now();
    for (let left = count; left > 0;) {
      const batch = await boss.fetch<{ id: string }>("handle", { batchSize: BATCH });
      if (writes) {
        await Promise.all(batch.map(async ({ data }) => pool.query(INSERT_EFFECT, [data.id, 1])));
      }
      await boss.complete(
        "handle",
        batch.map(({ id }) => id),
      );
      left -= batch.length;
    }
    return perSecond(count, startedAtMs);
  };
  await bossAll(WARM_UP);
  await checkpoint(url);
  const rate = await bossAll(EVENTS);
  await boss.stop({ graceful: false });
  await pool.end();
  return rate;
}
