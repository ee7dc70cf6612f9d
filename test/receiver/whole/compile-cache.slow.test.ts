import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startProcess } from "../helpers/process.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

test("a second start compiles nothing, neither in the receiver nor in the handlers' process", async () => {
  await compilersLoaded();
  const second = await compilersLoaded();
  expect(second.length).toBeGreaterThanOrEqual(2);
  expect(second).not.toContain(true);
});

test("the cache is in the user's chosen folder", async () => {
  const folder = temporaryDirectory();
  expect(await compilersLoaded({ NODE_COMPILE_CACHE: folder })).toContain(true);
  expect(readdirSync(folder)).not.toEqual([]);
  expect(await compilersLoaded({ NODE_COMPILE_CACHE: folder })).not.toContain(true);
});

test("without the cache, each start compiles", async () => {
  expect(await compilersLoaded({ NODE_DISABLE_COMPILE_CACHE: "1" })).toContain(true);
});

/**
 * Starts a receiver, lets it handle events and stops it. Returns for each of its processes whether Node.js loaded amaro,
 * its compiler of TypeScript.
 */
async function compilersLoaded(environment: Record<string, string> = {}): Promise<boolean[]> {
  const folder = temporaryDirectory();
  const report = join(folder, "report.cjs");
  const reported = join(folder, "reported");
  writeFileSync(
    report,
    `const loaded = () => process.moduleLoadList.some((name) => name.includes("amaro"));
    process.on("exit", () => require("node:fs").appendFileSync(${JSON.stringify(reported)}, loaded() + "\\n"));`,
  );
  const receiver = await startProcess({
    environment: {
      DATABASE_URL: `sqlite:${join(folder, "receiver.db")}`,
      NODE_COMPILE_CACHE: "",
      NODE_OPTIONS: `--require ${report}`,
      ...environment,
    },
  });
  await expect
    .poll(async () => (await fetch(`${receiver.adminUrl}/metrics`)).text())
    .toContain("receiver_worker_up 1\n");
  receiver.child.kill("SIGTERM");
  expect(await receiver.exited).toEqual({ code: 0, signal: null });
  const lines = readFileSync(reported, "utf8").trimEnd().split("\n");
  return lines.map((line) => line === "true");
}
