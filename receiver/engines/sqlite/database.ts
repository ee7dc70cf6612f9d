import { closeSync, fchmodSync, fsyncSync, lstatSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import type { Unavailable } from "../../engine.ts";

/** Connections to the inbox file, and to the work file. */
export type Files = { inbox: Database.Database; db: Database.Database };

/** `FULL` syncs every commit; `NORMAL` syncs only when the write-ahead log is copied into the file. */
export type Synchronous = "FULL" | "NORMAL";

/** Processes that start together on a new file wait for the one that makes its schema. */
const OPENING_TIMEOUT_MS = 5_000;

/** How long the write-ahead log may get before it is copied into the file: fewer copies of pages that change often. */
const CHECKPOINT_PAGES = 4_000;

/**
 * Opens a database file in WAL mode, creates it (readable by its owner alone) when it isn't there, and brings its
 * schema up to date. A symbolic link in its place is refused: nobody knows what it leads to. `migrations` is only ever
 * appended to: `PRAGMA user_version` counts those that have run.
 */
export function openDatabase(options: {
  file: string;
  migrations: readonly string[];
  synchronous: Synchronous;
  /** The page size of a new file. */
  pageBytes: 4_096 | 8_192;
  /** How long a statement waits, on this thread, for another connection's transaction. */
  busyTimeoutMs: number;
}): Database.Database {
  createPrivately(options.file);
  const db = new Database(options.file, { timeout: OPENING_TIMEOUT_MS });
  try {
    db.pragma(`page_size = ${String(options.pageBytes)}`);
    db.pragma("journal_mode = WAL");
    // Set, not assumed: better-sqlite3 is compiled to fall back to NORMAL in WAL mode, and NORMAL loses acknowledged
    // events in a power cut.
    db.pragma(`synchronous = ${options.synchronous}`);
    db.pragma(`wal_autocheckpoint = ${String(CHECKPOINT_PAGES)}`);
    migrate(db, options);
    db.pragma(`busy_timeout = ${String(options.busyTimeoutMs)}`);
    checkSynchronous(db, options.synchronous);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Opens a file that is there already, to read from it only. */
export function openReader(file: string): Database.Database {
  const db = new Database(file, { readonly: true, fileMustExist: true, timeout: OPENING_TIMEOUT_MS });
  db.pragma("query_only = ON");
  return db;
}

/** Throws unless the connection syncs as it was told to. Ask after a write: that is when it would have fallen back. */
export function checkSynchronous(db: Database.Database, synchronous: Synchronous): void {
  const level = db.pragma("synchronous", { simple: true });
  if (level === { FULL: 2, NORMAL: 1 }[synchronous]) return;
  throw new Error(`${db.name} runs with synchronous=${String(level)} instead of ${synchronous}.`);
}

/** Brings everything that was committed to `file` so far onto the disk, whatever its connections sync by themselves. */
export function syncCommits(file: string): void {
  // What was copied into the file itself was synced by the checkpoint that did so; the rest is in its log.
  sync(`${file}-wal`);
}

/** Syncs a directory, so that a power cut leaves the names of new files in it. */
export function syncDirectory(directory: string): void {
  // Windows cannot sync a directory, and need not.
  if (process.platform !== "win32") sync(directory);
}

function sync(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function createPrivately(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    // `x` makes the file or fails: it follows no link.
    const descriptor = openSync(file, "ax", 0o600);
    // The mask of the process may have taken away what the owner needs.
    fchmodSync(descriptor, 0o600);
    closeSync(descriptor);
  } catch {
    // It exists, or cannot be created: SQLite opens it or says why not.
    if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
    throw new Error(`${file} is a symbolic link, and nothing is written through one. Name the file itself.`);
  }
}

function migrate(
  db: Database.Database,
  { file, migrations }: { file: string; migrations: readonly string[] },
): void {
  const isCurrent = (): boolean => {
    const version = Number(db.pragma("user_version", { simple: true }));
    if (version <= migrations.length) return version === migrations.length;
    throw new Error(
      `${file} was written by a newer receiver (schema ${String(version)}, this one knows ${String(migrations.length)}). Run the newer receiver, or restore a backup made before the upgrade.`,
    );
  };
  // A file that is up to date is opened without a write, so also while another process has a transaction open.
  if (isCurrent()) return;
  // Immediate, so that of several processes starting on a new file one migrates and the others wait for it.
  db.transaction(() => {
    if (isCurrent()) return;
    for (const sql of migrations.slice(Number(db.pragma("user_version", { simple: true })))) db.exec(sql);
    db.pragma(`user_version = ${String(migrations.length)}`);
  }).immediate();
}

/** Which kind of trouble an error of SQLite is; undefined when it is none of SQLite's, but a bug. */
export function unavailability(error: unknown): Unavailable | undefined {
  if (!(error instanceof Database.SqliteError)) return undefined;
  for (const [prefix, reason] of REASONS) if (error.code.startsWith(prefix)) return reason;
  return undefined;
}

const REASONS: readonly (readonly [string, Unavailable])[] = [
  ["SQLITE_BUSY", "busy"],
  ["SQLITE_LOCKED", "busy"],
  ["SQLITE_FULL", "full"],
  ["SQLITE_READONLY", "read_only"],
  ["SQLITE_PERM", "read_only"],
  ["SQLITE_IOERR", "io_error"],
  ["SQLITE_CANTOPEN", "io_error"],
  ["SQLITE_CORRUPT", "corrupt"],
  ["SQLITE_NOTADB", "corrupt"],
];
