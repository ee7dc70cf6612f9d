import { constants, existsSync, lstatSync, mkdirSync, statSync, writeFileSync, type Stats } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import Database from "better-sqlite3";
import { z } from "zod";
import { TOUCH } from "./schema.ts";

/** Creates a missing file, readable by its owner only: SQLite would let others read it. Call it before SQLite opens the file. */
export function prepareFile(file: string): void {
  const folder = dirname(resolve(file));
  if (!existsSync(folder)) {
    // Creates one folder, such as data/. Creating more would hide a typo.
    if (!existsSync(dirname(folder)))
      throw new Error(`there is no folder ${dirname(folder)}. Make it, or fix DATABASE_URL.`);
    mkdirSync(folder, { mode: 0o700 });
  }
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found && !found.isFile()) throw new Error(`${file} is not a regular file. Name one in DATABASE_URL.`);
  if (!found) writeFileSync(file, "", { flag: "ax", mode: 0o600 });
}

/** The intake itself checkpoints a log larger than this, which takes about 12 ms. */
export const LONGEST_LOG_BYTES = 256 * 1_048_576;

/** The write-ahead log of a database, `-wal`, which the intake syncs itself. */
export type Log = Awaited<ReturnType<typeof openLog>>;

/**
 * Opens the log for syncs. First checkpoints and syncs what an earlier process may not have synced; throws SQLITE_BUSY while
 * another process reads the log. `onFatal` ends the process.
 */
export async function openLog(db: Database.Database, onFatal: (problem: string) => void) {
  const path = `${db.name}-wal`;
  // The log exists only after the first write.
  db.exec(TOUCH);
  const [result] = checkpointSchema.parse(db.pragma("wal_checkpoint(TRUNCATE)"));
  if (result?.busy !== 0) throw new Database.SqliteError("the log is in use", "SQLITE_BUSY");
  const log = await open(path, constants.O_RDWR);
  await log.sync();
  await syncFolder(dirname(db.name));
  /** Both: if only the file was moved, even before this, the next start would create a new, empty one. */
  const files = [path, db.name];
  const found = () => files.map(statsOf);
  const opened = found();

  return {
    /** Resolves when all commits are on disk. Ends the process if it cannot tell. */
    sync: async () => {
      // The system may have dropped the data it could not write, so a second sync would succeed without it.
      await log
        .datasync()
        .catch(async (error: unknown) => fail(`${path} could not be synced: ${String(error)}`));
      const named = found();
      const lost = files.find((_name, index) => !named[index] || named[index].ino !== opened[index]?.ino);
      if (lost !== undefined) await fail(`${lost} was moved, deleted or replaced while it was in use`);
      if ((named[0]?.size ?? 0) > LONGEST_LOG_BYTES) db.pragma("wal_checkpoint(RESTART)");
    },
    /** Call it after the connection is closed: closing the descriptor releases SQLite's locks. */
    close: async () => log.close(),
  };

  async function fail(problem: string): Promise<never> {
    onFatal(problem);
    return new Promise(() => undefined);
  }
}

/** Synchronous: a round trip through the thread pool takes longer than these look-ups. */
function statsOf(file: string): Stats | undefined {
  try {
    return statSync(file);
  } catch {
    return undefined;
  }
}

const checkpointSchema = z.array(z.object({ busy: z.number() }));

/** Makes the names of new files survive a power cut. Windows cannot sync a folder and does not need to. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  await handle.sync();
  await handle.close();
}
