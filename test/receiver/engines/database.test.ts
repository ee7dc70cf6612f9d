import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { checkSynchronous, openDatabase, unavailability } from "../../../receiver/engines/sqlite/database.ts";
import { openFiles } from "../helpers/parts.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

/** How a file is opened, and what its troubles are called. */

test.each([
  ["SQLITE_BUSY", "busy"],
  ["SQLITE_BUSY_SNAPSHOT", "busy"],
  ["SQLITE_LOCKED", "busy"],
  ["SQLITE_LOCKED_SHAREDCACHE", "busy"],
  ["SQLITE_FULL", "full"],
  ["SQLITE_READONLY", "read_only"],
  ["SQLITE_READONLY_DIRECTORY", "read_only"],
  ["SQLITE_PERM", "read_only"],
  ["SQLITE_IOERR_FSYNC", "io_error"],
  ["SQLITE_IOERR", "io_error"],
  ["SQLITE_CANTOPEN", "io_error"],
  ["SQLITE_CORRUPT", "corrupt"],
  ["SQLITE_CORRUPT_INDEX", "corrupt"],
  ["SQLITE_NOTADB", "corrupt"],
  ["SQLITE_CONSTRAINT_CHECK", undefined],
  ["SQLITE_ERROR", undefined],
])("the trouble %s of a database is %s", (code, reason) => {
  expect(unavailability(new Database.SqliteError("words", code))).toBe(reason);
  expect(unavailability(Object.assign(new Error("words"), { code }))).toBeUndefined();
});

const MIGRATIONS = ["CREATE TABLE one (x)", "CREATE TABLE two (x)", "CREATE TABLE three (x)"];

function open(file: string, options: Partial<Parameters<typeof openDatabase>[0]> = {}): Database.Database {
  const db = openDatabase({
    file,
    migrations: MIGRATIONS,
    synchronous: "FULL",
    pageBytes: 4_096,
    busyTimeoutMs: 7,
    ...options,
  });
  onTestFinished(() => void db.close());
  return db;
}

test.each([
  ["FULL", 2, 8_192],
  ["NORMAL", 1, 4_096],
] as const)(
  "a file that syncs %s is opened so, in WAL mode, with its own page size and patience",
  (synchronous, level, pageBytes) => {
    const db = open(join(temporaryDirectory(), "a.db"), { synchronous, pageBytes, busyTimeoutMs: 123 });
    db.exec("INSERT INTO one VALUES (1)");
    const seen = ["synchronous", "journal_mode", "page_size", "busy_timeout"].map((name) =>
      db.pragma(name, { simple: true }),
    );
    expect(seen).toEqual([level, "wal", pageBytes, 123]);
    expect(() => checkSynchronous(db, synchronous)).not.toThrow();
    const other = synchronous === "FULL" ? "NORMAL" : "FULL";
    expect(() => checkSynchronous(db, other)).toThrow(`synchronous=${String(level)} instead of ${other}`);
  },
);

test.each([0, 1, 2, 3])("of three migrations those run that have not, after %i of them", (ran) => {
  const file = join(temporaryDirectory(), "a.db");
  open(file, { migrations: MIGRATIONS.slice(0, ran) }).close();
  const db = open(file);
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid").pluck();
  expect(tables.all()).toEqual(["one", "two", "three"]);
  expect(db.pragma("user_version", { simple: true })).toBe(3);
});

test("a file of a newer version is refused as it is, and one whose migration fails keeps its version", () => {
  const file = join(temporaryDirectory(), "a.db");
  open(file).close();
  const newer = `${file} was written by a newer receiver (schema 3, this one knows 2). Run the newer receiver`;
  expect(() => open(file, { migrations: MIGRATIONS.slice(0, 2) })).toThrow(newer);
  expect(() => open(file, { migrations: [...MIGRATIONS, "CREATE TABLE four (x)", "no SQL"] })).toThrow(
    "syntax",
  );
  const db = open(file);
  expect(db.pragma("user_version", { simple: true })).toBe(3);
  expect(db.prepare("SELECT count(*) FROM sqlite_schema WHERE type = 'table'").pluck().get()).toBe(3);
});

test("a file that is up to date is opened while another process has a transaction open", () => {
  const { db } = openFiles(join(temporaryDirectory(), "receiver.db"));
  db.exec("BEGIN IMMEDIATE");
  expect(() => openFiles(db.name.replace(".work", "")).db.close()).not.toThrow();
  db.exec("ROLLBACK");
});
