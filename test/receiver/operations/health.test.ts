import { expect, onTestFinished, test } from "vitest";
import { compose } from "../../../receiver/receiver.ts";
import { createHealth } from "../../../receiver/operations/health.ts";
import { createLog } from "../../../receiver/operations/log.ts";
import { openStore } from "../../../receiver/store/open.ts";
import type { Intake } from "../../../receiver/store/port.ts";
import { standingClock } from "../helpers/clock.ts";
import { testConfig } from "../helpers/receiver.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { until } from "../helpers/until.ts";

const MEGABYTE = 1_048_576;

async function health(
  overrides: Partial<Parameters<typeof createHealth>[0]> & { free?: number | undefined } = {},
) {
  const clock = standingClock();
  const disk = { free: async (): Promise<number | undefined> => overrides.free ?? 1_000 * MEGABYTE };
  const database = { result: { ok: true } as Awaited<ReturnType<Intake["probe"]>>, probes: 0 };
  const probe: Intake["probe"] = async () => {
    database.probes += 1;
    return database.result;
  };
  const freeBytes = async (): Promise<number | undefined> => disk.free();
  const given = { probe, clock, freeBytes, minimumFreeBytes: 64 * MEGABYTE, role: "all" as const };
  const made = createHealth({ ...given, ...overrides });
  onTestFinished(made.stop);
  await clock.pass(0);
  return { ...made, clock, disk, database };
}

test("it is ready while the database accepts writes, and probes it at most once a second", async () => {
  const { readiness, database, clock } = await health();
  expect(await readiness()).toEqual({ ready: true, checks: { database: "ok", disk: "ok", draining: "ok" } });
  database.result = { ok: false, reason: "full", detail: "" };
  await clock.pass(999);
  expect((await readiness()).ready).toBe(true);
  expect(database.probes).toBe(1);
  await clock.pass(1);
  expect(await readiness()).toMatchObject({ ready: false, checks: { database: "full" } });
  database.result = { ok: true };
  await clock.pass(1_000);
  expect((await readiness()).ready).toBe(true);
});

test("a database that does not answer is not ready after three seconds", async () => {
  const { readiness, clock } = await health({ probe: async () => new Promise(() => undefined) });
  const asked = readiness();
  await clock.pass(3_000);
  expect(await asked).toMatchObject({ ready: false, checks: { database: "timeout" } });
});

test("below the low-water mark it refuses events, and accepts them again once there is room", async () => {
  const { readiness, diskLow, disk, clock, stop } = await health();
  disk.free = async () => 63 * MEGABYTE;
  await clock.pass(1_000);
  expect(diskLow()).toBe(true);
  expect(await readiness()).toMatchObject({ ready: false, checks: { disk: "below the low-water mark" } });
  disk.free = async () => 64 * MEGABYTE;
  await clock.pass(1_000);
  expect(diskLow()).toBe(false);
  stop();
  await clock.pass(1_000);
  expect(clock.waiting()).toBe(0);
});

test.each([async () => Promise.reject(new Error("EIO")), async () => undefined])(
  "a file system that does not say its room, for good or for a moment, refuses no events",
  async (unknown) => {
    const { diskLow, disk, clock } = await health();
    disk.free = unknown;
    await clock.pass(1_000);
    expect(diskLow()).toBe(false);
    disk.free = async () => 1_000 * MEGABYTE;
    await clock.pass(1_000);
    expect(diskLow()).toBe(false);
  },
);

test("the disk is that of the database, also when an app changes its working directory", async () => {
  const before = process.cwd();
  onTestFinished(() => process.chdir(before));
  process.chdir(temporaryDirectory());
  const variables = { DATABASE_URL: "sqlite:data/receiver.db", MIN_FREE_DISK_BYTES: String(2 ** 53 - 1) };
  const config = testConfig({ ...variables, RECEIVER_ROLE: "ingest" });
  const [clock, log] = [standingClock(), createLog({ level: "silent" })];
  const store = await openStore({ ...config, clock, isWorker: false, onFatal: () => undefined });
  const startWork = async () => Promise.reject(new Error("it takes events only"));
  const { health: watched, close } = await compose({ config, store, clock, log, startWork });
  onTestFinished(close);
  const isWatched = () => clock.waiting() > 0;
  await until(isWatched);
  process.chdir(before);
  await clock.pass(1_000);
  await until(isWatched);
  expect(watched.diskLow()).toBe(true);
});

test("a receiver that stops is not ready at once", async () => {
  const { readiness, startDraining } = await health();
  startDraining();
  expect(await readiness()).toMatchObject({ ready: false, checks: { draining: "shutting down" } });
});

test.each([
  ["working", "ok"],
  ["broken", "broken"],
  ["starting", "starting"],
  ["restarting", "restarting"],
] as const)("handlers that are %s count in the role worker, and are named in all", async (state, check) => {
  const workerStatus = () => ({ state, problem: "secret place" });
  const readinessIn = async (role: "all" | "worker") => (await health({ role, workerStatus })).readiness();
  const checks = { handlers: check };
  expect(await readinessIn("worker")).toMatchObject({ ready: state === "working", checks });
  expect(await readinessIn("all")).toMatchObject({ ready: true, checks });
});
