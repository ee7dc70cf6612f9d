import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { run } from "../helpers/process.ts";
import { startProcess } from "../receiver/helpers/process.ts";
import { temporaryDirectory } from "../receiver/helpers/temporary.ts";

/**
 * Any user can create a folder in the shared temporary folder first, and then owns it. A program that keeps code there,
 * as Node.js does with its compile cache, would run the code that this user put into it.
 */
function emptyTemporaryFolder(): string {
  const folder = join(temporaryDirectory(), "tmp");
  mkdirSync(folder);
  return folder;
}

// The programs must not inherit the cache that vitest chose for its own processes.
beforeEach(() => void vi.stubEnv("NODE_COMPILE_CACHE", undefined));
afterEach(() => void vi.unstubAllEnvs());

test("the receiver and its handlers keep nothing in the shared temporary folder", async () => {
  const folder = emptyTemporaryFolder();
  const receiver = await startProcess({
    environment: { TMPDIR: folder, DATABASE_URL: `sqlite:${join(temporaryDirectory(), "receiver.db")}` },
  });
  await expect
    .poll(async () => (await fetch(`${receiver.adminUrl}/metrics`)).text())
    .toContain("receiver_worker_up 1\n");
  receiver.child.kill("SIGTERM");
  expect(await receiver.exited).toEqual({ code: 0, signal: null });
  expect(readdirSync(folder)).toEqual([]);
});

test("the simulator keeps nothing in the shared temporary folder", async () => {
  const folder = emptyTemporaryFolder();
  const simulator = run("simulator/main.ts", ["readings"], { TMPDIR: folder });
  expect(await simulator.exited).toEqual({ code: 0, signal: null });
  expect(readdirSync(folder)).toEqual([]);
});
