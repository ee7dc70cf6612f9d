import { constants, statSync, type Stats } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { z } from "zod";
import { TOUCH } from "./schema.ts";

/** A log beyond this is copied into the file by the intake itself, which takes some 12 ms. */
export const LONGEST_LOG_BYTES = 256 * 1_048_576;

/** The write-ahead log of a database, `-wal`, which its intake syncs itself. */
export type Log = Awaited<ReturnType<typeof openLog>>;

/**
 * Opens the log for syncs. What an earlier process could not sync is copied into the file and synced there first; throws
 * SQLITE_BUSY while another process reads the log. `onFatal` ends the process.
 */
export async function openLog(db: Database.Database, onFatal: (problem: string) => void) {
  const path = `${db.name}-wal`;
  // The log exists after the first write only.
  db.exec(TOUCH);
  const [result] = checkpointSchema.parse(db.pragma("wal_checkpoint(TRUNCATE)"));
  if (result?.busy !== 0) throw new Database.SqliteError("the log is in use", "SQLITE_BUSY");
  const log = await open(path, constants.O_RDWR);
  await log.sync();
  await syncFolder(dirname(db.name));
  /** Of both: who moves the file alone would find a new, empty one at the next start. */
  const files = [path, db.name];
  const found = () => files.map(statsOf);
  const opened = found();

  return {
    /** Resolves when everything that is committed is on disk. Ends the process if that cannot be known. */
    sync: async () => {
      // The system may have dropped what it could not write: a second sync would succeed and mean nothing.
      await log
        .datasync()
        .catch(async (error: unknown) => fail(`${path} could not be synced: ${String(error)}`));
      const named = found();
      const lost = files.find((_name, index) => named[index]?.ino !== opened[index]?.ino);
      if (lost !== undefined) await fail(`${lost} was moved, deleted or replaced while it was in use`);
      if ((named[0]?.size ?? 0) > LONGEST_LOG_BYTES) db.pragma("wal_checkpoint(RESTART)");
    },
    /** To be called after the connection was closed: closing the descriptor takes the locks of SQLite away. */
    close: async () => log.close(),
  };

  async function fail(problem: string): Promise<never> {
    onFatal(problem);
    return new Promise(() => undefined);
  }
}

/** Without a wait: a way through the thread pool takes longer than these look-ups. */
function statsOf(file: string): Stats | undefined {
  try {
    return statSync(file);
  } catch {
    return undefined;
  }
}

const checkpointSchema = z.array(z.object({ busy: z.number() }));

/** Keeps the names of new files over a power cut. Windows cannot sync a folder, and need not. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  await handle.sync();
  await handle.close();
}
