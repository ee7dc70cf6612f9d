import { describe, expect, test } from "vitest";
import { setTimeout as sleep } from "node:timers/promises";
import {
  accept,
  atomically,
  acceptAndClaim,
  claim,
  claimOne,
  effects,
  event,
  handler,
  jobOf,
  openStore,
  openWorker,
  writeEffect,
} from "../store-suite/harness.ts";
import type { HandlerDatabase } from "../../../receiver/store/port.ts";
import { sqliteBackend } from "./sqlite.ts";

describe("a transaction on SQLite ends within one turn of the event loop", () => {
  test.each([
    { what: "a timer", wait: async () => sleep(1) },
    { what: "a turn of the event loop", wait: async () => new Promise((resolve) => setImmediate(resolve)) },
    { what: "something that never comes", wait: async () => new Promise(() => undefined) },
  ])("a handler that waits for $what is rolled back with an error that says what to do", async ({ wait }) => {
    const backend = await sqliteBackend();
    const store = await openWorker(backend);
    const [id = ""] = await accept(store, event());
    const job = await claimOne(store);
    let late: Promise<unknown> = Promise.resolve();
    const outcome = atomically(store, job, async (db) => {
      await writeEffect(db, job);
      await wait();
      late = writeEffect(db, job).catch((error: unknown) => error);
      await late;
    });
    await expect(outcome).rejects.toThrow(/Call the service before/);
    // The lock is free again, and the late query is refused.
    await accept(await openStore(backend), event());
    await sleep(5);
    expect(String(await late)).toMatch(/undefined|has ended/);
    expect(await effects(backend)).toEqual([]);
    expect(await jobOf(store, id)).toMatchObject({ state: "running" });
    expect(await store.jobs.end(job, { kind: "failed", error: "x", delayMs: 0 })).toBe(true);
  });

  test("queries one after another, several at once, and many of them are within the turn", async () => {
    const backend = await sqliteBackend();
    const store = await openWorker(backend);
    const job = await acceptAndClaim(store);
    await atomically(store, job, async (db) => {
      for (let n = 0; n < 1_000; n += 1) await db.query("INSERT INTO effects VALUES ($1, $2)", [job.id, n]);
      await Promise.all([1, 2, 3].map(async () => writeEffect(db, job)));
      const [row] = await db.query("SELECT count(*) AS n FROM effects");
      expect(row).toEqual({ n: 1_003 });
    });
    expect(await effects(backend)).toHaveLength(1_003);
  });

  test("transactions of one turn are committed together with the turn's other writes", async () => {
    const backend = await sqliteBackend();
    const store = await openWorker(backend);
    await accept(store, ...Array.from({ length: 30 }, () => event()));
    const jobs = await claim(store);
    const before = await commits(backend.file);
    await Promise.all([
      ...jobs.slice(0, 15).map(async (job) => atomically(store, job, async (db) => writeEffect(db, job))),
      ...jobs.slice(15).map(async (job) => store.jobs.end(job, { kind: "done" })),
    ]);
    expect((await commits(backend.file)) - before).toBe(1);
    expect(await effects(backend)).toHaveLength(15);
  });

  test("a commit that fails, as by a deferred foreign key, writes nothing, and the next one is made", async () => {
    const tables = `CREATE TABLE items (id INTEGER PRIMARY KEY);
      CREATE TABLE lines (item INTEGER REFERENCES items (id) DEFERRABLE INITIALLY DEFERRED)`;
    const store = await openWorker(await sqliteBackend(), [handler({ migrations: [tables] })]);
    const job = await acceptAndClaim(store);
    const insert = async (db: HandlerDatabase) => db.query("INSERT INTO lines VALUES (7)");
    await expect(atomically(store, job, insert)).rejects.toThrow(/FOREIGN KEY/);
    expect(await store.jobs.end(job, { kind: "done" })).toBe(true);
  });
});

/** The number of commits to the file: each leaves one frame with the size of the database in its header. */
async function commits(file: string): Promise<number> {
  const { readFile } = await import("node:fs/promises");
  const log = await readFile(`${file}-wal`);
  const pageBytes = log.readUInt32BE(8);
  const salt = log.subarray(16, 24);
  let count = 0;
  for (let at = 32; at + 24 <= log.length; at += 24 + pageBytes)
    if (log.readUInt32BE(at + 4) !== 0 && log.subarray(at + 8, at + 16).equals(salt)) count += 1;
  return count;
}
