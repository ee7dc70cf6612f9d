import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { accept, event } from "../store-suite/harness.ts";
import { openFile } from "./sqlite.ts";

/** Only the owner can read the inbox, and no other file is accepted as one. */

const modeOf = (file: string): number => statSync(file).mode & 0o777;

test("a new file, its log and its folder are readable by their owner only", async () => {
  const folder = join(temporaryDirectory(), "data");
  const file = join(folder, "receiver.db");
  const store = await openFile(file);
  await accept(store, event());
  expect([modeOf(folder), modeOf(file), modeOf(`${file}-wal`)]).toEqual([0o700, 0o600, 0o600]);
});

test("anything but a regular file is refused at once, and left unchanged", async () => {
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
  const before = readFileSync(file);
  await expect(openFile(file)).rejects.toThrow(
    /not an inbox of this version \(schema 4, not 1\).*DATABASE_URL/,
  );
  expect(readFileSync(file).equals(before)).toBe(true);
  writeFileSync(file, "this is no database, and longer than its header would have to be".repeat(20));
  await expect(openFile(file)).rejects.toThrow(/not a database/);
});
