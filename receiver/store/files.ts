import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  statSync,
  writeFileSync,
  type Stats,
} from "node:fs";
import { open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import Database from "better-sqlite3";
import { z } from "zod";
import { mayBeInbox, TOUCH } from "./schema.ts";

const RIGHTS_OF_OTHERS = 0o077;

/** Files that were opened by SQLite in this process: closing a descriptor of one would release its locks. */
const opened = new Set<number>();

/**
 * To be called before SQLite opens the file. Makes it, readable by its owner alone, if there is none; takes others' rights
 * from it and its log if it is an inbox. By descriptor: what a path names may be exchanged meanwhile.
 */
export function prepareFile(file: string): void {
  const folder = dirname(resolve(file));
  if (!existsSync(folder)) {
    // One folder is made, such as data/; more of them would hide that the name was mistyped.
    if (!existsSync(dirname(folder)))
      throw new Error(`there is no folder ${dirname(folder)}. Make it, or fix DATABASE_URL.`);
    mkdirSync(folder, { mode: 0o700 });
  }
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found && !found.isFile()) throw new Error(`${file} is not a regular file. Name one in DATABASE_URL.`);
  if (!found) writeFileSync(file, "", { flag: "ax", mode: 0o600 });
  const { ino } = lstatSync(file);
  if (opened.has(ino)) return;
  opened.add(ino);
  const readable = [file, `${file}-wal`, `${file}-shm`].filter(isOpenToOthers);
  // Not opened without need: the app may have it open in a connection of its own.
  if (readable.length === 0 || !withDescriptor(file, mayBeInbox)) return;
  for (const path of readable)
    withDescriptor(path, (descriptor) =>
      fchmodSync(descriptor, fstatSync(descriptor).mode & ~RIGHTS_OF_OTHERS),
    );
}

function isOpenToOthers(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true && (found.mode & RIGHTS_OF_OTHERS) !== 0;
}

/** Opens what is named itself, not what a link there points to. */
function withDescriptor<Result>(path: string, use: (descriptor: number) => Result): Result {
  const descriptor = openSync(path, constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    return use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

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
