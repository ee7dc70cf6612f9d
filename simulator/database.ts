import { accessSync, constants, existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, resolve } from "node:path";
import Database from "better-sqlite3";
import {
  ATTEMPTS_BY_NUMBER,
  DELIVERY_TABLES,
  FEWER_INDEXES,
  ROTATION_TABLES,
  SENT_URLS,
  SUMMARY_TABLES,
  VERDICT_TABLES,
} from "./domain/schema.ts";
import { summaryOfBody } from "./domain/world/event-summary.ts";
import { keepPrivate } from "./private-file.ts";
import { WORLD_MIGRATIONS, WORLD_RETENTION } from "./domain/world/schema.ts";
import { type Refused, refused } from "./domain/refused.ts";
import { messageOf } from "./errors.ts";

/** SQLite's name for a database in a file that it makes itself, and removes at once. */
const TEMPORARY = "";
/** At each commit SQLite counts the changed pages of a temporary database: with more room for them, that is what it does. */
const TEMPORARY_CACHE_KIB = 2_000;

export type OpenedDatabase = { ok: true; database: Database.Database } | Refused;

/** One entry a release, oldest first; `PRAGMA user_version` counts how many a file has seen. Append, never edit. */
const MIGRATIONS = [
  `${DELIVERY_TABLES};${WORLD_MIGRATIONS}`,
  SUMMARY_TABLES,
  `${VERDICT_TABLES};${WORLD_RETENTION}`,
  FEWER_INDEXES,
  ROTATION_TABLES,
  ATTEMPTS_BY_NUMBER,
  SENT_URLS,
];

/** Message about a data file that a newer version wrote; the name of the file stands before it. */
export const TOO_NEW =
  "was written by a newer version of this simulator: update it, or use another --data file.";

/** The newest version of a data file that this simulator knows. */
export const NEWEST_VERSION = MIGRATIONS.length;

/**
 * Opens the simulator's state: in memory, or in `file`, which then survives a kill -9 (but belongs to one simulator at a
 * time). The file holds endpoint secrets, so only its owner may read it. With `isTemporary` and no file, what does not fit
 * into a few megabytes of memory goes to an unnamed temporary file, which ends with the process.
 */
export function openDatabase(file?: string, isTemporary = false): OpenedDatabase {
  const path = file === undefined ? placeWithoutFile(isTemporary) : resolve(file);
  try {
    if (file !== undefined && !existsSync(dirname(path))) {
      // A folder that we made would hide a mistyped name.
      return refused(`There is no folder ${dirname(path)}: make it, or mend --data.`);
    }
    const linked = file === undefined ? undefined : keepPrivate(path);
    if (linked !== undefined) return refused(`${path} ${linked}`);
    const database = new Database(path, { timeout: 250 });
    database.pragma("locking_mode = EXCLUSIVE");
    database.pragma(`journal_mode = ${file === undefined ? "MEMORY" : "WAL"}`);
    database.pragma("synchronous = NORMAL");
    if (path === TEMPORARY) database.pragma(`cache_size = -${TEMPORARY_CACHE_KIB}`);
    database.pragma("foreign_keys = ON");
    database.function("event_summary", { deterministic: true }, summaryOfBody);
    const problem = migrate(database);
    if (problem === undefined) return { ok: true, database };
    database.close();
    return refused(`${path} ${problem}`);
  } catch (error) {
    return refused(explain(path, error));
  }
}

/** In memory, or in a temporary file, where there is a place for one. */
function placeWithoutFile(isTemporary: boolean): string {
  if (!isTemporary) return ":memory:";
  try {
    accessSync(tmpdir(), constants.W_OK);
    return TEMPORARY;
  } catch {
    return ":memory:";
  }
}

function migrate(database: Database.Database): string | undefined {
  const version = Number(database.pragma("user_version", { simple: true }));
  if (version > NEWEST_VERSION) {
    return TOO_NEW;
  }
  database
    .transaction(() => {
      for (const statement of MIGRATIONS.slice(version)) database.exec(statement);
      database.pragma(`user_version = ${MIGRATIONS.length}`);
    })
    .exclusive();
  return undefined;
}

function explain(path: string, error: unknown): string {
  const code = error instanceof Database.SqliteError ? error.code : "";
  if (code === "SQLITE_BUSY")
    return `${path} is in use by another simulator: stop it, or use another --data file.`;
  if (code === "SQLITE_NOTADB") return `${path} is not a simulator's data file: use another --data file.`;
  return `Cannot open ${path} (${messageOf(error)}): look whether it is a file that you may read and write, in a folder where you may make more, or use another --data file.`;
}
