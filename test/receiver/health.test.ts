import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import { compose } from "../../receiver/compose.ts";
import type { Refusal } from "../../receiver/engine.ts";
import { openSqliteEngine } from "../../receiver/engines/sqlite/index.ts";
import { createHealth } from "../../receiver/operations/health.ts";
import { createLog } from "../../receiver/operations/log.ts";
import { get } from "./helpers/events.ts";
import { handClock } from "./helpers/intake.ts";
import { startTestReceiver, testConfig } from "./helpers/receiver.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";

const settled = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function startHealth(options: Partial<Parameters<typeof createHealth>[0]> = {}) {
  const clock = handClock();
  const health = createHealth({
    probe: async () => ({ ok: true }),
    clock,
    freeBytes: async () => 1_000_000,
    minimumFreeBytes: 0,
    storedBytes: () => 0,
    ...options,
  });
  onTestFinished(health.stop);
  return { health, clock };
}

describe("a receiver is ready", () => {
  test("when its database takes writes, its disk has room and nobody has asked it to stop", async () => {
    const { health } = startHealth();
    expect(await health.readiness()).toEqual({
      ready: true,
      checks: { database: "ok", disk: "ok", draining: "ok" },
    });
    health.startDraining();
    expect(await health.readiness()).toMatchObject({ ready: false, checks: { draining: "shutting down" } });
  });

  test("no longer than a second after its database took the last write", async () => {
    const busy: Refusal = { ok: false, reason: "busy", detail: "" };
    let answer: Refusal | { ok: true } = { ok: true };
    let probes = 0;
    const { health, clock } = startHealth({
      probe: async () => {
        probes += 1;
        return answer;
      },
    });
    await health.readiness();
    answer = busy;
    clock.pass(999);
    expect(await health.readiness()).toMatchObject({ ready: true });
    expect(probes).toBe(1);
    clock.pass(1);
    expect(await health.readiness()).toMatchObject({ ready: false, checks: { database: "busy" } });
  });

  test.each(["busy", "full", "read_only", "io_error", "corrupt", "closed", "overloaded"] as const)(
    "not while its database takes no writes, and says why: %s",
    async (reason) => {
      const { health } = startHealth({ probe: async () => ({ ok: false, reason, detail: "" }) });
      expect(await health.readiness()).toMatchObject({ ready: false, checks: { database: reason } });
    },
  );

  test("only when its database answers within three seconds", async () => {
    const { promise: never } = Promise.withResolvers<{ ok: true }>();
    const { health, clock } = startHealth({ probe: async () => never });
    const seen = vi.fn<() => void>();
    const readiness = health.readiness().finally(seen);
    await settled();
    clock.pass(2_999);
    await settled();
    expect(seen).not.toHaveBeenCalled();
    clock.pass(1);
    expect(await readiness).toMatchObject({ ready: false, checks: { database: "timeout" } });
  });

  test("in the role that works only while its worker process gives signs of life", async () => {
    let alive = true;
    const { health } = startHealth({ workerAlive: () => alive });
    expect(await health.readiness()).toMatchObject({ ready: true, checks: { worker: "ok" } });
    alive = false;
    expect(await health.readiness()).toMatchObject({ ready: false, checks: { worker: "no sign of life" } });
  });
});

test.each([
  ["all", true],
  ["worker", false],
])(
  "in the role %s a process of handlers that gives no sign of life leaves it ready: %o",
  async (role, ready) => {
    const file = join(temporaryDirectory(), "receiver.db");
    const engine = await openSqliteEngine({ file, clock: systemClock });
    const composed = await compose({
      config: testConfig({ RECEIVER_ROLE: role }),
      engine,
      clock: systemClock,
      log: createLog({ level: "silent" }),
      environment: {},
      startWork: async () => ({ alive: () => false, wake: () => undefined, stop: async () => undefined }),
    });
    onTestFinished(composed.close);
    expect(await composed.health.readiness()).toMatchObject({ ready });
  },
);

describe("the low-water mark of the disk", () => {
  test("is the configured one while little is stored", async () => {
    let freeBytes = 1_000;
    const { health, clock } = startHealth({ freeBytes: async () => freeBytes, minimumFreeBytes: 1_000 });
    await settled();
    expect(health.diskLow()).toBe(false);
    freeBytes = 999;
    clock.pass(1_000);
    await settled();
    expect(health.diskLow()).toBe(true);
    expect(await health.readiness()).toMatchObject({ checks: { disk: "below the low-water mark" } });
    freeBytes = 1_000;
    clock.pass(1_000);
    await settled();
    expect(health.diskLow()).toBe(false);
  });

  test("is what a minute like the last one would write, bodies three times over", async () => {
    let storedBytes = 0;
    let freeBytes = 3_000;
    const { health, clock } = startHealth({
      freeBytes: async () => freeBytes,
      storedBytes: () => storedBytes,
    });
    const second = async (): Promise<boolean> => {
      clock.pass(1_000);
      await settled();
      return health.diskLow();
    };
    await settled();
    storedBytes = 1_000;
    expect(await second()).toBe(false);
    freeBytes = 2_999;
    expect(await second()).toBe(true);
    // A minute after the load has ended it may be the configured one again.
    const low: boolean[] = [];
    for (let seconds = 0; seconds < 60; seconds += 1) low.push(await second());
    expect(low.indexOf(false)).toBe(58);
  });

  test("is looked at once a second, until it is stopped in whatever it does", async () => {
    const answers: ((bytes: number) => void)[] = [];
    const { health, clock } = startHealth({
      freeBytes: async () => new Promise((resolve) => answers.push(resolve)),
    });
    const answer = async (): Promise<void> => {
      answers.at(-1)?.(1_000);
      await settled();
    };
    await answer();
    clock.pass(999);
    expect(answers).toHaveLength(1);
    clock.pass(1);
    expect(answers).toHaveLength(2);
    health.stop();
    await answer();
    clock.pass(10_000);
    expect(answers).toHaveLength(2);
  });

  test("is no reason to refuse events where the file system can't tell", async () => {
    const { health } = startHealth({
      freeBytes: () => Promise.reject(new Error("ENOSYS")),
      minimumFreeBytes: 1,
    });
    await settled();
    expect(health.diskLow()).toBe(false);
  });
});

test("what the file system keeps for root is no room for events", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "receiver-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const { bfree, bavail, bsize } = statfsSync(directory);
  context.skip(bfree === bavail, "This file system keeps nothing for root.");
  const between = String(bsize * Math.floor((bfree + bavail) / 2));
  const { adminUrl } = await startTestReceiver({
    environment: { DATABASE_URL: `sqlite:${directory}/receiver.db`, MIN_FREE_DISK_BYTES: between },
  });
  await expect.poll(async () => (await get(`${adminUrl}/readyz`)).status).toBe(503);
});
