import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { run as startProgram } from "../../helpers/process.ts";
import { openSimulator, temporaryDirectory } from "../../helpers/simulator.ts";
import { run, startService } from "./in-process.ts";

/** What commands of the simulator take while they run, and give back however they end. */

test.each<[string, code: number, make: (file: string) => unknown]>([
  ["is not there yet", 0, () => undefined],
  ["is sound", 0, async (file) => openSimulator({ dataFile: file }).close()],
  ["is used by a simulator", 0, (file) => openSimulator({ dataFile: file })],
  ["is no database", 1, (file) => writeFileSync(file, "nonsense".repeat(100), { mode: 0o600 })],
  [
    "can be read by others",
    1,
    async (file) => {
      await openSimulator({ dataFile: file }).close();
      chmodSync(file, 0o644);
    },
  ],
  ["is a folder", 1, (file) => mkdirSync(file)],
])("doctor leaves the folder of a data file that %s as it was", async (_, code, make) => {
  const folder = temporaryDirectory();
  const file = join(folder, "simulator.db");
  await make(file);
  // SQLite keeps its own two beside a file that it reads, and the next simulator takes them away.
  const files = () => readdirSync(folder).filter((name) => !/-(?:wal|shm)$/.test(name));
  const before = files();
  const { simulator } = await startService();
  expect(await run("doctor", "--data", file, "--simulator", simulator.url)).toMatchObject({ code });
  expect(files()).toEqual(before);
});

test.each([
  ["when it is refused", "400d", 2],
  ["when it has", "1m", 0],
])("a command that moves the clock ends %s", async (_, duration, code) => {
  const { simulator } = await startService({ clock: "manual" });
  const command = ["clock", "advance", duration, "--simulator", simulator.url];
  expect(await startProgram("simulator/main.ts", command).exited).toEqual({ code, signal: null });
});
