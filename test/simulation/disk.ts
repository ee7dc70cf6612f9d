import { copyFileSync, existsSync, readFileSync, rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { Clock } from "../../receiver/clock.ts";
import type { Random } from "../../simulator/domain/random.ts";

const WAL_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const SLOWEST_SYNC_MS = 30;

/**
 * The disk under the database. A commit stays in the cache of the write-ahead log until a sync that began after it has
 * ended. A power cut may undo any number of unsynced commits, the newest first.
 */
export function createDisk(directory: string, random: Random, { lies = false } = {}) {
  let life = 0;
  let synced = { salt: "", bytes: 0 };
  const file = (): string => join(directory, `${life}.db`);
  const log = (): string => `${file()}-wal`;

  function logNow(): { salt: string; bytes: number } {
    const bytes = existsSync(log()) ? statSync(log()).size : 0;
    return { salt: bytes < WAL_HEADER_BYTES ? "" : saltOf(readFileSync(log())), bytes };
  }

  return {
    file,
    sync: async (clock: Clock): Promise<void> => {
      const began = logNow();
      await clock.sleep(random.int(1, SLOWEST_SYNC_MS));
      if (!lies && (began.salt !== synced.salt || began.bytes > synced.bytes)) synced = began;
    },
    /** Copies the log into the file, as far as readers allow; SQLite syncs the log first. */
    checkpoint: (mode: "PASSIVE" | "RESTART"): void => {
      const db = new Database(file(), { timeout: 0 });
      try {
        db.pragma(`wal_checkpoint(${mode})`);
        synced = logNow();
      } finally {
        db.close();
      }
    },
    /** Cuts the power; returns how many commits were lost. All processes must be dead. */
    cutPower: (chance: Random): number => {
      const [oldFile, oldLog] = [file(), log()];
      life += 1;
      copyFileSync(oldFile, file());
      if (existsSync(oldLog)) copyFileSync(oldLog, log());
      // SQLite syncs the header when it restarts the log.
      const now = logNow();
      const from = now.salt === synced.salt ? synced.bytes : Math.min(WAL_HEADER_BYTES, now.bytes);
      const ends = commitEnds(log()).filter((end) => end > from);
      const kept = chance.int(0, ends.length);
      // Part of the next commit may have reached the disk; its checksum shows that it is incomplete.
      const torn = kept < ends.length && chance.chance(0.5) ? chance.int(1, FRAME_HEADER_BYTES) : 0;
      if (now.bytes > 0) truncateSync(log(), (kept === 0 ? from : (ends[kept - 1] ?? 0)) + torn);
      synced = logNow();
      for (const name of [oldFile, oldLog, `${oldFile}-shm`]) rmSync(name, { force: true });
      return ends.length - kept;
    },
  };
}

export type Disk = ReturnType<typeof createDisk>;

const saltOf = (bytes: Buffer): string => bytes.subarray(16, 24).toString("hex");

/** Where each commit in a write-ahead log ends, in bytes (https://sqlite.org/fileformat2.html#the_write_ahead_log). */
function commitEnds(log: string): number[] {
  const bytes = existsSync(log) ? readFileSync(log) : Buffer.alloc(0);
  if (bytes.length < WAL_HEADER_BYTES) return [];
  const frameBytes = FRAME_HEADER_BYTES + bytes.readUInt32BE(8);
  const ends: number[] = [];
  for (let at = WAL_HEADER_BYTES; at + frameBytes <= bytes.length; at += frameBytes) {
    if (bytes.subarray(at + 8, at + 16).toString("hex") !== saltOf(bytes)) break;
    if (bytes.readUInt32BE(at + 4) !== 0) ends.push(at + frameBytes);
  }
  return ends;
}
