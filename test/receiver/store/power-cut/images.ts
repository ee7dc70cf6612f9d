import Database from "better-sqlite3";
import { rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { makeDirectory } from "../../helpers/temporary.ts";
import type { Step } from "./recording.ts";

const SECTOR = 512;

/** Counts of disks: unreadable ones, ones that lack an acknowledged event, and ones with a done job without its effect, or the reverse. */
export type ImageVerdict = { images: number; corrupt: number; losing: number; torn: number };

/**
 * Cuts the power after random steps, and checks what a disk could then contain: everything up to a file's last sync, and
 * any part of the later writes, down to single sectors and in any order.
 */
export async function judgeImages(
  steps: readonly Step[],
  options: { images: number; random: () => number },
): Promise<ImageVerdict> {
  const directory = makeDirectory();
  const verdict: ImageVerdict = { images: 0, corrupt: 0, losing: 0, torn: 0 };
  const cuts = Array.from({ length: options.images }, () =>
    Math.floor(options.random() * steps.length),
  ).toSorted((a, b) => a - b);
  const disk = new Map<string, DiskFile>();
  const acknowledged: string[] = [];
  let done = 0;
  for (const cut of cuts) {
    for (; done <= cut; done += 1) apply(disk, acknowledged, steps[done]!, done);
    writeImage(directory, disk, options.random);
    verdict.images += 1;
    const found = judgeImage(directory, acknowledged);
    if (found !== "sound") verdict[found] += 1;
    await setImmediate();
  }
  rmSync(directory, { recursive: true });
  return verdict;
}

type Change = Extract<Step, { kind: "write" | "truncate" }>;
type DiskFile = { synced: Buffer; since: { step: number; change: Change }[] };

function apply(disk: Map<string, DiskFile>, acknowledged: string[], step: Step, number: number): void {
  if (step.kind === "acknowledge") {
    acknowledged.push(...step.ids);
    return;
  }
  const file = disk.get(step.file) ?? { synced: Buffer.alloc(0), since: [] };
  disk.set(step.file, file);
  if (step.kind === "sync") {
    const isCovered = (one: { step: number }): boolean => one.step < step.covered;
    file.synced = changed(
      file.synced,
      file.since.filter(isCovered).map(({ change }) => change),
    );
    file.since = file.since.filter((one) => !isCovered(one));
  } else file.since.push({ step: number, change: step });
}

/** Applies all changes to one copy of `content`: thousands of images are made. */
function changed(content: Buffer, changes: readonly Change[]): Buffer {
  const ends = changes.map((change) =>
    change.kind === "truncate" ? change.length : change.at + change.bytes.length,
  );
  const result = Buffer.alloc(Math.max(content.length, ...ends));
  content.copy(result);
  let length = content.length;
  for (const change of changes) {
    if (change.kind === "truncate") {
      if (change.length < length) result.fill(0, change.length, length);
      length = change.length;
    } else {
      change.bytes.copy(result, change.at);
      length = Math.max(length, change.at + change.bytes.length);
    }
  }
  return result.subarray(0, length);
}

function writeImage(directory: string, disk: ReadonlyMap<string, DiskFile>, random: () => number): void {
  for (const suffix of ["", "-shm", "-wal"]) rmSync(join(directory, `receiver.db${suffix}`), { force: true });
  // From a disk that lost all later writes to one that lost none.
  const survival = [0, 0.2, 0.5, 0.9, 1][Math.floor(random() * 5)] ?? 0;
  for (const [path, { synced, since }] of disk) {
    const surviving = since
      .flatMap(({ change }) => sectors(random)(change))
      .filter(() => random() < survival);
    writeFileSync(join(directory, basename(path)), changed(synced, surviving));
  }
}

/** A change as the disk may write it: some writes whole, others sector by sector. */
function sectors(random: () => number): (change: Change) => Change[] {
  return (change) => {
    if (change.kind === "truncate" || random() < 0.7) return [change];
    const parts: Change[] = [];
    for (let from = 0; from < change.bytes.length; from += SECTOR) {
      parts.push({ ...change, at: change.at + from, bytes: change.bytes.subarray(from, from + SECTOR) });
    }
    return parts;
  };
}

/** What a receiver finds when it starts on this disk. */
function judgeImage(
  directory: string,
  acknowledged: readonly string[],
): "sound" | "corrupt" | "losing" | "torn" {
  const db = new Database(join(directory, "receiver.db"));
  try {
    // The image is temporary: nothing in it must be synced.
    db.pragma("synchronous = OFF");
    if (db.pragma("integrity_check", { simple: true }) !== "ok") return "corrupt";
    if (acknowledged.length === 0) return "sound";
    const list = (sql: string): string[] => db.prepare<[], string>(sql).pluck().all();
    const stored = new Set(list("SELECT 'evt_' || lower(hex(id)) FROM events"));
    if (acknowledged.some((id) => !stored.has(id))) return "losing";
    const done = list(`
      SELECT 'evt_' || lower(hex(id)) FROM events JOIN jobs ON event = seq JOIN handlers ON number = handler
      WHERE name = 'effects' AND state = 'done' ORDER BY 1`);
    return done.join() === list("SELECT id FROM effects ORDER BY 1").join() ? "sound" : "torn";
  } catch {
    return acknowledged.length === 0 ? "sound" : "corrupt";
  } finally {
    db.close();
  }
}
