import { expect, onTestFinished, test } from "vitest";
import { createHealth, type WorkerStatus } from "../../../receiver/operations/health.ts";
import type { Intake } from "../../../receiver/store/port.ts";
import { standingClock } from "../helpers/clock.ts";

const MEGABYTE = 1_048_576;

async function health(overrides: Partial<Parameters<typeof createHealth>[0]> & { free?: number } = {}) {
  const clock = standingClock();
  const disk = { free: overrides.free ?? 1_000 * MEGABYTE };
  const database: { result: Awaited<ReturnType<Intake["probe"]>>; probes: number } = {
    result: { ok: true },
    probes: 0,
  };
  const probe: Intake["probe"] = async () => {
    database.probes += 1;
    return database.result;
  };
  const made = createHealth({
    probe,
    clock,
    freeBytes: async () => disk.free,
    minimumFreeBytes: 64 * MEGABYTE,
    role: "all",
    ...overrides,
  });
  onTestFinished(made.stop);
  await clock.pass(0);
  return { ...made, clock, disk, database };
}

test("it is ready while the database takes writes, and asks it once a second at the most", async () => {
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

test("below the low-water mark it refuses events, and takes them again when there is room", async () => {
  const { readiness, diskLow, disk, clock } = await health();
  disk.free = 63 * MEGABYTE;
  await clock.pass(1_000);
  expect(diskLow()).toBe(true);
  expect(await readiness()).toMatchObject({ ready: false, checks: { disk: "below the low-water mark" } });
  disk.free = 10_000 * MEGABYTE;
  await clock.pass(200_000);
  expect(diskLow()).toBe(false);
});

test("the mark rises with what the last seconds took of the disk, and falls again slowly", async () => {
  const { diskLow, disk, clock } = await health();
  disk.free = 900 * MEGABYTE;
  await clock.pass(1_000);
  expect(diskLow()).toBe(true);
  await clock.pass(1_000);
  expect(diskLow()).toBe(false);
});

test("at no free bytes it is not ready, also without a mark", async () => {
  expect((await health({ free: 0, minimumFreeBytes: 0 })).diskLow()).toBe(true);
  expect((await health({ free: 2 * MEGABYTE, minimumFreeBytes: 0 })).diskLow()).toBe(false);
});

test("a file system that cannot say, or a database on a server, refuses no events", async () => {
  expect((await health({ freeBytes: async () => Promise.reject(new Error("EIO")) })).diskLow()).toBe(false);
});

test("a receiver that stops is not ready at once", async () => {
  const { readiness, startDraining } = await health();
  startDraining();
  expect(await readiness()).toMatchObject({ ready: false, checks: { draining: "shutting down" } });
});

test.each([
  ["working", "ok"],
  ["broken", "could not be started"],
  ["starting", "starting"],
  ["restarting", "restarting"],
] as const)(
  "handlers that are %s make the role worker unready, and are named in every role",
  async (state, check) => {
    const workerStatus = (): WorkerStatus => ({ state, problem: "secret place" });
    const readinessIn = async (role: "all" | "worker") => (await health({ role, workerStatus })).readiness();
    expect(await readinessIn("worker")).toMatchObject({
      ready: state === "working",
      checks: { handlers: check },
    });
    expect(await readinessIn("all")).toMatchObject({ ready: true, checks: { handlers: check } });
  },
);
