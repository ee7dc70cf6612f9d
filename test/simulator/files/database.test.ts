import Database from "better-sqlite3";
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { emit, openSimulator, temporaryDirectory } from "../../helpers/simulator.ts";

const FILES = "/proc/self/fd";

/** The deleted files that this process holds open. */
function temporaryFiles(): string[] {
  return readdirSync(FILES)
    .map((name) => readlinkIfThere(`${FILES}/${name}`))
    .filter((path) => path.endsWith(" (deleted)"));
}

function readlinkIfThere(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

test("without a file, a large state moves to a private temporary file", async () => {
  if (!existsSync(FILES)) return; // Other systems do not show which files a process has open.
  const before = temporaryFiles();
  const more = () => temporaryFiles().filter((path) => !before.includes(path));
  const simulator = openSimulator();
  emit(simulator);
  expect(more()).toEqual([]);
  emit(simulator, "call.completed", 4_000);
  expect(more()).toHaveLength(1);
  await simulator.close();
  expect(more()).toEqual([]);
});

const TABLE = "CREATE TABLE recipes (name TEXT)";

test.each([
  ["of a newer release", `${TABLE}; PRAGMA user_version = 1000`, "was written by a newer version"],
  ["of an older release", `${TABLE}; PRAGMA user_version = 7`, "was written by an older version"],
  ["of another program", TABLE, "is not a simulator's data file"],
])("a data file %s is refused with a message and stays unchanged", (_, made, says) => {
  const dataFile = join(temporaryDirectory(), "other.db");
  const database = new Database(dataFile);
  database.exec(made);
  database.close();
  const before = readFileSync(dataFile);
  expect(() => openSimulator({ dataFile })).toThrow(new RegExp(`${says}.*another --data file`));
  expect(readFileSync(dataFile)).toEqual(before);
});

test("a data file keeps its seed, and is not opened with another one", async () => {
  const dataFile = join(temporaryDirectory(), "seeded.db");
  await openSimulator({ dataFile, seed: 3 }).close();
  expect(() => openSimulator({ dataFile, seed: 4 })).toThrow("was begun with --seed 3: leave --seed out");
  expect(openSimulator({ dataFile, seed: undefined }).seed).toBe(3);
});

test("an empty file becomes a data file", async () => {
  const dataFile = join(temporaryDirectory(), "empty.db");
  writeFileSync(dataFile, "");
  const first = openSimulator({ dataFile });
  emit(first);
  await first.close();
  expect(openSimulator({ dataFile }).counts.events()).toBe(1);
});
