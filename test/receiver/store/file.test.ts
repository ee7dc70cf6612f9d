import {
  chmodSync,
  existsSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import Database from "better-sqlite3";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { openSqliteStore } from "../../../receiver/store/sqlite.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
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
import { failLoudly, sqliteBackend } from "./sqlite.ts";

async function openFile(file: string, onFatal: (problem: string) => void = failLoudly) {
  const store = await openSqliteStore({ file, clock: systemClock, isWorker: false, onFatal });
  onTestFinished(async () => store.close());
  return store;
}

const modeOf = (file: string): number => statSync(file).mode & 0o777;

describe("the file of the inbox", () => {
  test("it, its log and its folder are made for their owner alone, and others' rights are taken from what is there", async () => {
    const folder = join(temporaryDirectory(), "data");
    const file = join(folder, "receiver.db");
    const store = await openFile(file);
    await accept(store, event());
    expect([modeOf(folder), modeOf(file), modeOf(`${file}-wal`)]).toEqual([0o700, 0o600, 0o600]);
    await store.close();
    chmodSync(file, 0o644);
    await openFile(file);
    expect(modeOf(file)).toBe(0o600);
  });

  test("what is no regular file is refused at once, and left as it is", async () => {
    const folder = temporaryDirectory();
    const [fifo, link, elsewhere] = ["fifo", "link", "elsewhere"].map((name) => join(folder, name));
    spawnSync("mkfifo", ["-m", "644", fifo ?? ""]);
    writeFileSync(elsewhere ?? "", "", { mode: 0o644 });
    symlinkSync(elsewhere ?? "", link ?? "");
    for (const file of [fifo ?? "", link ?? "", "/dev/null", folder]) {
      const before = statSync(file).mode;
      await expect(openFile(file)).rejects.toThrow(/not a regular file/);
      expect(statSync(file).mode).toBe(before);
    }
    await expect(openFile("/proc/none/of/these.db")).rejects.toThrow(/no folder/);
    await expect(openFile(join(folder, "a", "b", "c.db"))).rejects.toThrow(/no folder.*DATABASE_URL/);
    expect(existsSync(join(folder, "a"))).toBe(false);
  });

  test("a file of another program, or of another schema, is refused in one line and not changed", async () => {
    const file = join(temporaryDirectory(), "other.db");
    const other = new Database(file);
    other.exec("CREATE TABLE events (seq INTEGER); PRAGMA user_version = 4");
    other.close();
    chmodSync(file, 0o664);
    const before = readFileSync(file);
    await expect(openFile(file)).rejects.toThrow(
      /not an inbox of this version \(schema 4, not 1\).*DATABASE_URL/,
    );
    expect([readFileSync(file).equals(before), modeOf(file)]).toEqual([true, 0o664]);
    writeFileSync(file, "this is no database, and longer than its header would have to be".repeat(20));
    await expect(openFile(file)).rejects.toThrow(/not a database/);
    expect(modeOf(file)).toBe(0o664);
  });

  test("a link that another user has put beside it takes no rights from what it names", async () => {
    const folder = temporaryDirectory();
    const victim = join(folder, "victim");
    writeFileSync(victim, "precious");
    chmodSync(victim, 0o644);
    for (const name of ["wal", "shm"]) {
      const file = join(folder, `${name}.db`);
      symlinkSync(victim, `${file}-${name}`);
      await openFile(file).catch(() => undefined);
      expect([modeOf(victim), readFileSync(victim, "utf8")]).toEqual([0o644, "precious"]);
    }
  });

  test.each([
    ["a log", "moved", "-wal"],
    ["a log", "deleted and made anew", "-wal"],
    ["a file", "moved", ""],
  ])("%s that was %s ends the process instead of an answer", async (_what, how, end) => {
    const problems: string[] = [];
    const file = join(temporaryDirectory(), "receiver.db");
    const fatal = Promise.withResolvers<void>();
    const store = await openFile(file, (problem) => {
      problems.push(problem);
      fatal.resolve();
    });
    await accept(store, event());
    renameSync(`${file}${end}`, `${file}-away`);
    if (how !== "moved") writeFileSync(`${file}${end}`, "");
    const answered = store.intake.accept([event()]).then(() => "answered");
    expect(await Promise.race([fatal.promise.then(() => "ended"), answered])).toBe("ended");
    expect(problems[0]).toContain(`${file}${end} was moved, deleted or replaced`);
    renameSync(`${file}-away`, `${file}${end}`);
  });

  test("a sync that failed ends the process without an answer, and is not tried again", async () => {
    const problems: string[] = [];
    const file = join(temporaryDirectory(), "receiver.db");
    const fatal = Promise.withResolvers<void>();
    const store = await openFile(file, (problem) => {
      problems.push(problem);
      fatal.resolve();
    });
    const probe = await open(`${file}-probe`, "w");
    const datasync = vi.spyOn(Object.getPrototypeOf(probe) as typeof probe, "datasync");
    await probe.close();
    onTestFinished(() => datasync.mockRestore());
    datasync.mockRejectedValueOnce(Object.assign(new Error("EIO"), { code: "EIO" }));
    const answered = store.intake.accept([event()]).then(() => "answered");
    expect(await Promise.race([fatal.promise.then(() => "ended"), answered])).toBe("ended");
    expect(problems[0]).toMatch(/could not be synced.*EIO/);
    expect(datasync).toHaveBeenCalledTimes(1);
  });

  test("each batch is answered only after a sync that began when it was committed, also one of duplicates alone", async () => {
    const file = join(temporaryDirectory(), "receiver.db");
    const store = await openFile(file);
    const probe = await open(`${file}-probe`, "w");
    const prototype: { datasync: () => Promise<void> } = Object.getPrototypeOf(probe);
    const real: () => Promise<void> = Reflect.get(prototype, "datasync");
    await probe.close();
    const gate = Promise.withResolvers<void>();
    const seen: number[] = [];
    const other = new Database(file);
    const datasync = vi.spyOn(prototype, "datasync").mockImplementation(async function sync(
      this: typeof probe,
    ) {
      seen.push(other.prepare("SELECT count(*) FROM events").pluck().get() as number);
      await gate.promise;
      return real.call(this);
    });
    onTestFinished(() => {
      datasync.mockRestore();
      other.close();
    });
    const sent = event();
    let answers = 0;
    const first = store.intake.accept([sent]).then(() => (answers += 1));
    await vi.waitFor(() => expect(seen).toEqual([1]));
    // Its sync is under way: what comes now needs one of its own, and so does a copy.
    const second = store.intake.accept([event()]).then(() => (answers += 1));
    const copy = store.intake.accept([sent]).then(() => (answers += 1));
    await vi.waitFor(() => expect(seen).toHaveLength(3));
    expect(seen.slice(1)).toEqual([2, 2]);
    expect(answers).toBe(0);
    gate.resolve();
    await Promise.all([first, second, copy]);
  });
});

describe("several processes on one file", () => {
  test("a write waits for another's transaction without blocking the event loop, and is refused as busy after 8 s", async () => {
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

    let nowMs = 0;
    const hurried = { ...systemClock, monotonicMs: () => (nowMs += 500) };
    const impatient = await openSqliteStore({
      file: backend.file,
      clock: hurried,
      isWorker: false,
      onFatal: failLoudly,
    });
    onTestFinished(async () => impatient.close());
    other.exec("BEGIN IMMEDIATE");
    expect(await impatient.intake.accept([event()])).toMatchObject({ ok: false, reason: "busy" });
    other.exec("ROLLBACK");
    expect(await impatient.intake.accept([event()])).toMatchObject({ ok: true });
  });

  test("beside a long reader of the log the inbox opens and is read, and events are refused as busy until it ends", async () => {
    const backend = await sqliteBackend();
    await accept(await openStore(backend), event());
    const reader = new Database(backend.file, { readonly: true });
    onTestFinished(() => void reader.close());
    reader.exec("BEGIN; SELECT * FROM events");

    let nowMs = 0;
    const hurried = { ...systemClock, monotonicMs: () => (nowMs += 500) };
    const { file } = backend;
    const store = await openSqliteStore({ file, clock: hurried, isWorker: false, onFatal: failLoudly });
    onTestFinished(async () => store.close());
    expect(await store.ledger.list({}, { limit: 10 })).toHaveLength(1);
    expect(await store.intake.probe()).toMatchObject({ ok: false, reason: "busy" });
    expect(await store.intake.accept([event()])).toMatchObject({ ok: false, reason: "busy" });
    expect(await store.ledger.list({}, { limit: 10 })).toHaveLength(1);
    reader.exec("COMMIT");
    await accept(store, event());
  });

  test("events that come between the steps of the first announcement get their jobs, however many they are", async () => {
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

  test("a second worker waits until the first has ended, and gives up when it is told to", async () => {
    const backend = await sqliteBackend();
    const first = await openWorker(backend);
    const [id = ""] = await accept(first, event());
    await claimOne(first);

    const standby = await openStore(backend);
    let isWorker = false;
    const begun = standby.jobs
      .begin([handler({ backoffMs: () => 0 })], AbortSignal.timeout(60_000))
      .then(() => (isWorker = true));
    const told = new AbortController();
    const given = (await openStore(backend)).jobs.begin([handler()], told.signal);
    told.abort(new Error("stopped"));
    await expect(given).rejects.toThrow("stopped");
    expect(isWorker).toBe(false);
    expect(await jobOf(standby, id)).toMatchObject({ state: "running" });
    await backend.kill(first);
    await begun;
    expect((await claimOne(standby)).attempt).toBe(2);
  });
});
