import { chmodSync, existsSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../../../simulator/files/database.ts";
import { temporaryDirectory } from "../../helpers/simulator.ts";

/** A data file contains secrets of endpoints: only its owner can read it, from the first moment on. */

function open(file: string): string | undefined {
  const opened = openDatabase(file);
  if (!opened.ok) return opened.message;
  onTestFinished(() => void opened.database.close());
  return undefined;
}

test("a data file and its neighbours are private to the owner under any umask", () => {
  const before = process.umask(0);
  onTestFinished(() => void process.umask(before));
  const directory = temporaryDirectory();
  expect(open(join(directory, "simulator.db"))).toBeUndefined();
  const modes = readdirSync(directory).map((name) => statSync(join(directory, name)).mode & 0o777);
  expect(modes.length).toBeGreaterThan(1);
  expect(new Set(modes)).toEqual(new Set([0o600]));
});

test.each(["empty", "used"])(
  "one that others can read is private after it was opened, if it is %s",
  (what) => {
    const file = join(temporaryDirectory(), "simulator.db");
    writeFileSync(file, "");
    const used = what === "used" && openDatabase(file);
    if (used && used.ok) used.database.close();
    chmodSync(file, 0o644);
    expect(open(file)).toBeUndefined();
    expect(statSync(file).mode & 0o777).toBe(0o600);
  },
);

test("one of another program keeps its permissions, and is refused", () => {
  const file = join(temporaryDirectory(), "notes.txt");
  writeFileSync(file, "my notes\n".repeat(1_000));
  chmodSync(file, 0o664);
  expect(open(file)).toMatch(/is not a simulator's data file/);
  expect(statSync(file).mode & 0o777).toBe(0o664);
});

test("nothing is made or written through a link", () => {
  const directory = temporaryDirectory();
  const elsewhere = join(directory, "elsewhere");
  const link = join(directory, "simulator.db");
  symlinkSync(elsewhere, link);
  expect(open(link)).toMatch(/is a symbolic link.*name the file itself/);
  expect(existsSync(elsewhere)).toBe(false);
  writeFileSync(elsewhere, "");
  expect(open(link)).toMatch(/is a symbolic link/);
  expect(statSync(elsewhere).size).toBe(0);
});

test.each([
  ["a pipe", (folder: string) => pipe(join(folder, "simulator.db"))],
  ["a device", () => "/dev/null"],
])("%s is refused as a data file at once, and keeps its permissions", (what, make) => {
  const path = make(temporaryDirectory());
  const { mode } = statSync(path);
  expect(open(path)).toBe(`${path} cannot hold a database: it is ${what}. Name a regular file.`);
  expect(statSync(path).mode).toBe(mode);
});

function pipe(path: string): string {
  execFileSync("mkfifo", ["-m", "644", path]);
  return path;
}

test("blanks after the name of a data file are ignored", () => {
  const directory = temporaryDirectory();
  expect(open(join(directory, "simulator.db  "))).toBeUndefined();
  expect(readdirSync(directory)).toContain("simulator.db");
  expect(readdirSync(directory).filter((name) => name.endsWith(" "))).toEqual([]);
});
