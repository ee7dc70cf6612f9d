import { copyFileSync, existsSync, readFileSync, rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { workFileOf } from "../../receiver/engines/sqlite/work-file.ts";
import type { Random } from "../../simulator/domain/random.ts";

const WAL_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/** What `PRAGMA synchronous` answers for a connection that syncs each commit. */
const FULL = 2;

/**
 * The disk under both files. What is committed to the inbox is on it, as long as all its connections sync each commit.
 * What is committed to the work file is only in the log's cache until somebody syncs it. Of what is not synced, a power
 * cut may take any commits back, the newest first.
 */
export function createDisk(directory: string) {
  let life = 0;
  let syncedBytes = 0;
  let inboxIsSynced = true;
  const file = (): string => join(directory, `${String(life)}.db`);
  const inboxLog = (): string => `${file()}-wal`;
  const log = (): string => `${workFileOf(file())}-wal`;
  const logBytes = (): number => (existsSync(log()) ? statSync(log()).size : 0);

  /** Of the commits behind `fromBytes`, how many a power cut leaves is a matter of chance. */
  function cut(path: string, fromBytes: number, random: Random): number {
    const ends = commitEnds(path).filter((end) => end > fromBytes);
    const keep = random.int(0, ends.length);
    // Part of the next commit may have reached the disk; its checksum tells that it is not whole.
    const torn = keep < ends.length && random.chance(0.5) ? random.int(1, FRAME_HEADER_BYTES) : 0;
    if (existsSync(path)) truncateSync(path, (keep === 0 ? fromBytes : (ends[keep - 1] ?? 0)) + torn);
    return ends.length - keep;
  }

  return {
    file,
    /** Asks a connection to the inbox whether it syncs. */
    observe: (inbox: Database.Database): void => {
      inboxIsSynced &&= inbox.pragma("synchronous", { simple: true }) === FULL;
    },
    /** The work file's commits so far are on disk. */
    sync: (): void => {
      syncedBytes = logBytes();
    },
    /** Copies the work file's log into the file, as far as readers let it. */
    checkpoint: (): void => {
      const db = new Database(workFileOf(file()), { timeout: 0 });
      db.pragma("wal_autocheckpoint = 0");
      db.pragma("wal_checkpoint(TRUNCATE)");
      db.close();
      syncedBytes = logBytes();
    },
    /** Takes the current away: answers how many commits of the work file were lost. All processes must be dead. */
    cutPower: (random: Random): number => {
      const old = file();
      const names = [old, inboxLog(), workFileOf(old), log()].filter((name) => existsSync(name));
      life += 1;
      for (const name of names) copyFileSync(name, name.replace(`${String(life - 1)}.`, `${String(life)}.`));
      if (!inboxIsSynced) cut(inboxLog(), 0, random);
      const lost = cut(log(), syncedBytes, random);
      syncedBytes = logBytes();
      for (const name of names) rmSync(name, { force: true });
      return lost;
    },
  };
}

export type Disk = ReturnType<typeof createDisk>;

/** Where each commit in a write-ahead log ends, in bytes (https://sqlite.org/fileformat2.html#the_write_ahead_log). */
function commitEnds(log: string): number[] {
  if (!existsSync(log)) return [];
  const bytes = readFileSync(log);
  if (bytes.length < WAL_HEADER_BYTES) return [];
  const frameBytes = FRAME_HEADER_BYTES + bytes.readUInt32BE(8);
  const salt = bytes.subarray(16, 24);
  const ends: number[] = [];
  for (let at = WAL_HEADER_BYTES; at + frameBytes <= bytes.length; at += frameBytes) {
    if (!bytes.subarray(at + 8, at + 16).equals(salt)) break;
    if (bytes.readUInt32BE(at + 4) !== 0) ends.push(at + frameBytes);
  }
  return ends;
}
