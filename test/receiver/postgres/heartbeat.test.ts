import { Pool } from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import type { HandlerDatabase, Job, Store } from "../../../receiver/store/port.ts";
import { standingClock } from "../helpers/clock.ts";
import { until } from "../helpers/until.ts";
import {
  accept,
  atomically,
  claimOne,
  event,
  handler,
  jobOf,
  never,
  openWorker,
  writeEffect,
} from "../store-suite/harness.ts";
import { openPostgres, postgresBackend } from "./backend.ts";
import { noServer, query } from "./server.ts";

/** Heartbeats say that a worker lives: without them another takes its jobs, and it stops. */

async function openWith(clock: Clock, options: { pool?: Pool; onCutOff?: (problem: string) => void } = {}) {
  const backend = await postgresBackend();
  const { url: databaseUrl } = backend;
  const store = await openPostgres(databaseUrl, { clock, ...options });
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
    const timers = standingClock();
    let nextRoundMs = 0;
    const after: Clock["after"] = (ms, run) => {
      if (ms === 5_000) nextRoundMs = timers.monotonicMs() + ms;
      return timers.after(ms, run);
    };
    const { url } = await postgresBackend();
    const pool = new Pool({ connectionString: url });
    const problems: string[] = [];
    const onCutOff = (problem: string): void => void problems.push(problem);
    const { store, job } = await openWith({ ...systemClock, after }, { pool, onCutOff });
    const isDone = await end(store, job);
    // It goes on for any time, as long as each round writes its heartbeat.
    while (timers.monotonicMs() < 25_000) {
      await until(() => nextRoundMs > timers.monotonicMs());
      await timers.pass(5_000);
    }
    await until(() => nextRoundMs === 30_000);
    await pool.end();
    await timers.pass(19_999);
    expect(problems).toEqual([]);
    await timers.pass(1);
    expect(problems.map((one) => one.includes("no heartbeat for 20 s"))).toEqual(isDone ? [] : [true]);
  });
});
