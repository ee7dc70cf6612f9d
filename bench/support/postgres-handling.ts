import type { Pool } from "pg";
import { PgBoss } from "pg-boss";
import type { Claim, Outcome } from "../../receiver/engine.ts";
import {
  BENCH_HANDLER,
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
const INSERT_EFFECT = "INSERT INTO effects VALUES ($1, $2)";

/** What the engine hands to a handler that does nothing, or that writes a row. */
export async function effect(claim: Claim, writes: boolean): Promise<Outcome> {
  if (!writes) return { kind: "done" };
  await claim.atomically(claim.signal)(async (db) => db.query(INSERT_EFFECT, [claim.id, claim.attempt]));
  return { kind: "done" };
}

/** What everybody has done before the clock starts: connections are open then, and statements prepared. */
const WARM_UP = 500;

/** Some seconds' worth: in the first one most of a program is still being compiled. */
export const backlog = (writes: boolean): number => (writes ? EVENTS : 4 * EVENTS);

export async function handle(url: string, writes: boolean): Promise<number> {
  const engine = await openEngine(url);
  const handleAll = async (count: number): Promise<number> => {
    const events = newEvents(count);
    for (let at = 0; at < count; at += 1_000) await engine.intake.accept(events.slice(at, at + 1_000));
    const handled = counter(count);
    const startedAtMs = performance.now();
    const processor = await engine.work.process({
      handlers: [BENCH_HANDLER],
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
  const rate = await handleAll(backlog(writes));
  await engine.close();
  return rate;
}

/**
 * pg-boss by itself, tuned: batches of 500, as many handlers at a time as connections. With `atomically` each job is done
 * in the transaction of its handler, as ours is; otherwise a batch is done once all its handlers are.
 */
export async function boss(
  url: string,
  { writes, atomically }: { writes: boolean; atomically: boolean },
): Promise<number> {
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
      if (atomically) {
        await Promise.all(batch.map(async ({ id, data }) => inTransaction(pool, boss, id, data.id)));
      } else {
        if (writes) await Promise.all(batch.map(async ({ data }) => pool.query(INSERT_EFFECT, [data.id, 1])));
        await boss.complete(
          "handle",
          batch.map(({ id }) => id),
        );
      }
      left -= batch.length;
    }
    return perSecond(count, startedAtMs);
  };
  await bossAll(WARM_UP);
  await checkpoint(url);
  const rate = await bossAll(backlog(writes));
  await boss.stop({ graceful: false });
  await pool.end();
  return rate;
}

async function inTransaction(pool: Pool, boss: PgBoss, job: string, id: string): Promise<void> {
  const client = await pool.connect();
  await client.query("BEGIN");
  await client.query({ name: "effect", text: INSERT_EFFECT, values: [id, 1] });
  await boss.complete("handle", job, null, {
    db: {
      executeSql: async (text, values) => client.query({ name: "complete", text, values: values ?? [] }),
    },
  });
  await client.query("COMMIT");
  client.release();
}
