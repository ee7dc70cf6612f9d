import { accessSync, constants, existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import Database from "better-sqlite3";
import { DELIVERY_TABLES, TABLES_VERSION } from "../domain/schema.ts";
import { keepPrivate } from "./private-file.ts";
import { WORLD_TABLES } from "../domain/world/schema.ts";
import { type Refused, refused } from "../domain/refused.ts";
import { codeOf, messageOf } from "../text/errors.ts";

/** SQLite's name for a database in memory that moves to a private temporary file once it is large. */
const TEMPORARY = "";
/** At each commit SQLite goes through the cached pages of a temporary database: a larger cache makes commits slower. */
const TEMPORARY_CACHE_KIB = 2_000;

const BUSY_TIMEOUT_MS = 250;
const NOT_OURS = "is not a simulator's data file: use another --data file.";

export type OpenedDatabase = { ok: true; database: Database.Database } | Refused;

function problemOfTables(database: Database.Database): string | undefined {
  const version = versionOf(database);
  if (version === TABLES_VERSION) return undefined;
  if (version > TABLES_VERSION)
    return "was written by a newer version of this simulator: update it, or use another --data file.";
  if (version > 0)
    return "was written by an older version of this simulator, with other tables: start again with another --data file.";
  const isEmpty = database.prepare("SELECT 1 FROM sqlite_schema").get() === undefined;
  return isEmpty ? undefined : NOT_OURS;
}

/** Opens the state: in `file`, readable by its owner only, or in a temporary database that ends with the process. */
export function openDatabase(file?: string): OpenedDatabase {
  const path = file === undefined ? TEMPORARY : placeOf(file);
  try {
    const misplaced =
      file === undefined ? undefined : (problemOfFolder(dirname(path)) ?? problemOfFile(path));
    if (misplaced !== undefined) return refused(misplaced);
    const database = new Database(path, { timeout: BUSY_TIMEOUT_MS });
    database.pragma("locking_mode = EXCLUSIVE");
    const problem = problemOfTables(database);
    if (problem !== undefined) {
      database.close();
      return refused(`${path} ${problem}`);
    }
    database.pragma(`journal_mode = ${file === undefined ? "MEMORY" : "WAL"}`);
    database.pragma("synchronous = NORMAL");
    if (path === TEMPORARY) database.pragma(`cache_size = -${TEMPORARY_CACHE_KIB}`);
    database.pragma("foreign_keys = ON");
    if (versionOf(database) === 0) createTables(database);
    return { ok: true, database };
  } catch (error) {
    return refused(explain(path, error));
  }
}

/** The path of a data file, without blanks at its ends, which SQLite would drop. */
function placeOf(file: string): string {
  return resolve(file.trim());
}

/** Checks the folder: creating it would hide a mistyped name, and SQLite writes a log beside the file. */
function problemOfFolder(folder: string): string | undefined {
  if (!existsSync(folder)) return `The folder ${folder} does not exist: create it, or correct --data.`;
  try {
    accessSync(folder, constants.W_OK);
    return undefined;
  } catch (error) {
    return `The folder ${folder} is not writable (${codeOf(error)}): use another --data file.`;
  }
}

function problemOfFile(path: string): string | undefined {
  const problem = keepPrivate(path, TABLES_VERSION);
  return problem === undefined ? undefined : `${path} ${problem}`;
}

function versionOf(database: Database.Database): number {
  return Number(database.pragma("user_version", { simple: true }));
}

function createTables(database: Database.Database): void {
  database
    .transaction(() => {
      database.exec(`${DELIVERY_TABLES};${WORLD_TABLES}`);
      database.pragma(`user_version = ${TABLES_VERSION}`);
    })
    .exclusive();
}

function explain(path: string, error: unknown): string {
  const code = error instanceof Database.SqliteError ? error.code : "";
  if (code === "SQLITE_BUSY")
    return `${path} is in use by another simulator: stop it, or use another --data file.`;
  if (code === "SQLITE_NOTADB") return `${path} ${NOT_OURS}`;
  return `Cannot open ${path} (${messageOf(error)}): make the file and its folder readable and writable, or use another --data file.`;
}
