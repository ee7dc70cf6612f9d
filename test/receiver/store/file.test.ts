import { renameSync, truncateSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { until } from "../helpers/until.ts";
import {
  accept,
  claim,
  claimOne,
  event,
  handler,
  jobOf,
  openStore,
  openWorker,
} from "../store-suite/harness.ts";
import { openFile, sqliteBackend } from "./sqlite.ts";

describe("the file of the inbox", () => {
  test.each([
    ["a log", "moved", "-wal"],
    ["a log", "deleted and made anew", "-wal"],
    ["a file", "moved", ""],
    ["a file", "moved before the first event", ""],
  ])("if %s was %s, the process ends and answers nothing", async (_what, how, end) => {
    const { file, store, answerOrEnd } = await openInbox();
    if (!how.includes("before")) await accept(store, event());
    renameSync(`${file}${end}`, `${file}-away`);
    if (how.startsWith("deleted")) writeFileSync(`${file}${end}`, "");
    expect(await answerOrEnd()).toContain(`${file}${end} was moved, deleted or replaced`);
    renameSync(`${file}-away`, `${file}${end}`);
  });

  test("a sync that failed ends the process without an answer, and is not tried again", async () => {
    const { answerOrEnd } = await openInbox();
    const datasync = await spyOnSyncs();
    datasync.mockRejectedValueOnce(Object.assign(new Error("EIO"), { code: "EIO" }));
    expect(await answerOrEnd()).toMatch(/could not be synced.*EIO/);
    expect(datasync).toHaveBeenCalledTimes(1);
  });

  test("each batch is answered only after a sync that began after its commit, also if it has only duplicates", async () => {
    const { file, store } = await openInbox();
    const gate = Promise.withResolvers<void>();
    const seen: number[] = [];
    const other = new Database(file);
    onTestFinished(() => void other.close());
    (await spyOnSyncs()).mockImplementation(async () => {
      seen.push(other.prepare("SELECT count(*) FROM events").pluck().get() as number);
      await gate.promise;
    });
    const sent = event();
    let answers = 0;
    const first = store.intake.accept([sent]).then(() => (answers += 1));
    await until(() => seen.length === 1);
    // Its sync is running: new events need another one, and so does a duplicate.
    const second = store.intake.accept([event()]).then(() => (answers += 1));
    const copy = store.intake.accept([sent]).then(() => (answers += 1));
    await until(() => seen.length === 3);
    expect([seen, answers]).toEqual([[1, 2, 2], 0]);
    gate.resolve();
    await Promise.all([first, second, copy]);
  });
});

test("a log over 256 MB begins anew after the next sync", async () => {
  const file = join(temporaryDirectory(), "receiver.db");
  const store = await openFile(file);
  for (let count = 0; count < 30; count += 1) await accept(store, event());
  truncateSync(`${file}-wal`, 256 * 1_048_576 + 1);
  await accept(store, event());
  await accept(store, event());
  const other = new Database(file);
  onTestFinished(() => void other.close());
  expect(other.pragma("wal_checkpoint(PASSIVE)")).toMatchObject([
    { log: expect.toSatisfy((pages) => pages < 30) },
  ]);
});

test("thousands of jobs in one state are counted, slice by slice", async () => {
  const store = await openWorker(await sqliteBackend(), [handler({ migrations: [] })]);
  await accept(store, ...Array.from({ length: 5_001 }, () => event()));
  expect(await store.ledger.counts()).toMatchObject({ events: 5_001, handlers: [{ waiting: 5_001 }] });
});

describe("several processes on one file", () => {
  test("a write waits for another process's transaction without blocking the event loop, and is refused after 8 s", async () => {
    const backend = await sqliteBackend();
    const store = await openStore(backend);
    const other = new Database(backend.file);
    onTestFinished(() => void other.close());
    other.exec("BEGIN IMMEDIATE");
    let turns = 0;
    const waiting = store.intake.accept([event()]);
    while (turns < 50) {
      await new Promise((resolve) => setImmediate(resolve));
      turns += 1;
    }
    other.exec("COMMIT");
    expect(await waiting).toMatchObject({ ok: true });

    const impatient = await openFile(backend.file, { clock: impatientClock() });
    other.exec("BEGIN IMMEDIATE");
    expect(await impatient.intake.accept([event()])).toMatchObject({ ok: false, reason: "busy" });
    other.exec("ROLLBACK");
    expect(await impatient.intake.accept([event()])).toMatchObject({ ok: true });
  });

  test("during a long read of the log the inbox opens and can be read, and events are refused as busy", async () => {
    const backend = await sqliteBackend();
    await accept(await openStore(backend), event());
    const reader = new Database(backend.file, { readonly: true });
    onTestFinished(() => void reader.close());
    reader.exec("BEGIN; SELECT * FROM events");

    const store = await openFile(backend.file, { clock: impatientClock() });
    expect(await store.ledger.list({}, { limit: 10 })).toHaveLength(1);
    expect(await store.intake.probe()).toMatchObject({ ok: false, reason: "busy" });
    expect(await store.intake.accept([event()])).toMatchObject({ ok: false, reason: "busy" });
    expect(await store.ledger.list({}, { limit: 10 })).toHaveLength(1);
    reader.exec("COMMIT");
    await accept(store, event());
  });

  test("events that arrive between the steps of the first announcement get their jobs, however many", async () => {
    for (let turns = 0; turns < 12; turns += 1) {
      const backend = await sqliteBackend();
      const [intake, worker] = [await openStore(backend), await openStore(backend)];
      await intake.intake.probe();
      const begun = worker.jobs.begin([handler()], AbortSignal.timeout(60_000));
      for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      const sent = await accept(intake, ...Array.from({ length: 450 }, () => event()));
      await begun;
      expect((await claim(worker, "everything", 1_000)).map(({ id }) => id)).toEqual(sent);
    }
  });

  test("a second worker waits until the first has ended, and stops waiting on abort", async () => {
    const backend = await sqliteBackend();
    const first = await openWorker(backend);
    const [id = ""] = await accept(first, event());
    await claimOne(first);

    const standby = await openStore(backend);
    let isWorker = false;
    const begun = standby.jobs
      .begin([handler({ backoffMs: () => 0 })], AbortSignal.timeout(60_000))
      .then(() => (isWorker = true));
    const stopping = new AbortController();
    const given = (await openStore(backend)).jobs.begin([handler()], stopping.signal);
    stopping.abort(new Error("stopped"));
    await expect(given).rejects.toThrow("stopped");
    expect(isWorker).toBe(false);
    expect(await jobOf(standby, id)).toMatchObject({ state: "running" });
    await backend.kill(first);
    await begun;
    expect((await claimOne(standby)).attempt).toBe(2);
  });
});

/** An inbox that reports a fatal error and does not end the process. */
async function openInbox() {
  const file = join(temporaryDirectory(), "receiver.db");
  const end = Promise.withResolvers<string>();
  const store = await openFile(file, { onFatal: end.resolve });
  const answerOrEnd = async (): Promise<string> =>
    Promise.race([end.promise, store.intake.accept([event()]).then(() => "answered")]);
  return { file, store, answerOrEnd };
}

/** The syncs of every file of this process. */
async function spyOnSyncs() {
  const probe = await open("/dev/null");
  const datasync = vi.spyOn(Object.getPrototypeOf(probe) as typeof probe, "datasync");
  await probe.close();
  onTestFinished(() => datasync.mockRestore());
  return datasync;
}

/** A clock on which eight seconds pass after a few reads. */
function impatientClock(): Clock {
  let nowMs = 0;
  return { ...systemClock, monotonicMs: () => (nowMs += 500) };
}
