import Database from "better-sqlite3";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Step } from "./recording.ts";

const SECTOR = 512;

export type ImageVerdict = { images: number; corrupt: number; losing: number };

/**
 * Cuts the power after random steps, and checks what a disk could then show: everything up to a file's last sync, and
 * of what was written to it since then any part, down to single sectors and in any order.
 */
export function judgeImages(
  steps: readonly Step[],
  options: { images: number; random: () => number },
): ImageVerdict {
  const directory = mkdtempSync(join(tmpdir(), "power-cut-"));
  const verdict: ImageVerdict = { images: 0, corrupt: 0, losing: 0 };
  const cuts = Array.from({ length: options.images }, () =>
    Math.floor(options.random() * steps.length),
  ).toSorted((a, b) => a - b);
  const disk = new Map<string, DiskFile>();
  const acknowledged: string[] = [];
  let done = 0;
  for (const cut of cuts) {
    for (; done <= cut; done += 1) apply(disk, acknowledged, steps[done]!);
    writeImage(directory, disk, options.random);
    const missing = missingFrom(directory, acknowledged);
    verdict.images += 1;
    if (missing === "corrupt") verdict.corrupt += 1;
    else if (missing > 0) verdict.losing += 1;
  }
  rmSync(directory, { recursive: true });
  return verdict;
}

type Change = Extract<Step, { kind: "write" | "truncate" }>;
type DiskFile = { synced: Buffer; since: Change[] };

function apply(disk: Map<string, DiskFile>, acknowledged: string[], step: Step): void {
  if (step.kind === "acknowledge") {
    acknowledged.push(...step.ids);
    return;
  }
  const file = disk.get(step.file) ?? { synced: Buffer.alloc(0), since: [] };
  disk.set(step.file, file);
  if (step.kind === "sync") {
    file.synced = changed(file.synced, file.since);
    file.since = [];
  } else file.since.push(step);
}

/** Applies changes to a copy of `content`, in one go: images are made by the thousand. */
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
  rmSync(join(directory, "receiver.db-shm"), { force: true });
  rmSync(join(directory, "receiver.db-wal"), { force: true });
  // From a disk that lost all of it to one that lost nothing.
  const survival = [0, 0.2, 0.5, 0.9, 1][Math.floor(random() * 5)] ?? 0;
  for (const [path, { synced, since }] of disk) {
    const surviving = since.flatMap(sectors(random)).filter(() => random() < survival);
    writeFileSync(join(directory, basename(path)), changed(synced, surviving));
  }
}

/** A change as the disk may take it: some writes whole, others sector by sector. */
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

/** How many acknowledged events the database, opened as after a restart, does not have. */
function missingFrom(directory: string, acknowledged: readonly string[]): number | "corrupt" {
  const db = new Database(join(directory, "receiver.db"));
  try {
    // The image is thrown away: nothing in it has to be synced.
    db.pragma("synchronous = OFF");
    if (db.pragma("integrity_check", { simple: true }) !== "ok") return "corrupt";
    if (acknowledged.length === 0) return 0;
    const stored = new Set(db.prepare<[], string>("SELECT id FROM events").pluck().all());
    return acknowledged.filter((id) => !stored.has(id)).length;
  } catch {
    return acknowledged.length === 0 ? 0 : "corrupt";
  } finally {
    db.close();
  }
}
