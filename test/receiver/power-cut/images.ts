import Database from "better-sqlite3";
import { rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { makeDirectory } from "../helpers/temporary.ts";
import type { Step } from "./recording.ts";

const SECTOR = 512;

/** Of so many disks: those that cannot be read, those that miss an acknowledged event, and those that cannot heal. */
export type ImageVerdict = { images: number; corrupt: number; losing: number; stuck: number };

/**
 * Cuts the power after random steps, and checks what a disk could then show: everything up to a file's last sync, and
 * of what was written to it since then any part, down to single sectors and in any order.
 */
export function judgeImages(
  steps: readonly Step[],
  options: { images: number; random: () => number },
): ImageVerdict {
  const directory = makeDirectory();
  const verdict: ImageVerdict = { images: 0, corrupt: 0, losing: 0, stuck: 0 };
  const cuts = Array.from({ length: options.images }, () =>
    Math.floor(options.random() * steps.length),
  ).toSorted((a, b) => a - b);
  const disk = new Map<string, DiskFile>();
  const acknowledged: string[] = [];
  let done = 0;
  for (const cut of cuts) {
    for (; done <= cut; done += 1) apply(disk, acknowledged, steps[done]!);
    writeImage(directory, disk, options.random);
    verdict.images += 1;
    const found = judgeImage(directory, acknowledged);
    if (found !== "sound") verdict[found] += 1;
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
  for (const name of ["receiver.db", "receiver.work.db"]) {
    for (const suffix of ["", "-shm", "-wal"]) rmSync(join(directory, name + suffix), { force: true });
  }
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

/** What a receiver finds that is started on this disk. */
function judgeImage(
  directory: string,
  acknowledged: readonly string[],
): "sound" | "corrupt" | "losing" | "stuck" {
  const inbox = new Database(join(directory, "receiver.db"));
  const work = new Database(join(directory, "receiver.work.db"));
  try {
    for (const db of [inbox, work]) {
      // The image is thrown away: nothing in it has to be synced.
      db.pragma("synchronous = OFF");
      if (db.pragma("integrity_check", { simple: true }) !== "ok") return "corrupt";
    }
    if (acknowledged.length === 0) return "sound";
    const stored = new Set(
      inbox.prepare<[], string>("SELECT 'evt_' || lower(hex(key)) FROM events").pluck().all(),
    );
    if (acknowledged.some((id) => !stored.has(id))) return "losing";
    return findsItsWay(inbox, work) ? "sound" : "stuck";
  } catch {
    return acknowledged.length === 0 ? "sound" : "corrupt";
  } finally {
    inbox.close();
    work.close();
  }
}

/**
 * Whether the two files can go on together: every event that has been looked at has a row or is pruned, what is pruned
 * has its effect and no other has one that would be written again, and no effect is there twice.
 */
function findsItsWay(inbox: Database.Database, work: Database.Database): boolean {
  const position = work.prepare<[], number>("SELECT seq FROM position").pluck().get();
  if (position === undefined) return false;
  const rows = new Map(
    work
      .prepare<[], { seq: number; state: string }>(
        "SELECT job / 1024 AS seq, state FROM jobs WHERE handler = (SELECT number FROM handlers WHERE name = 'effects')",
      )
      .all()
      .map(({ seq, state }) => [seq, state]),
  );
  const effects = work.prepare<[], number>("SELECT seq FROM effects").pluck().all();
  const effectual = new Set(effects);
  if (effectual.size < effects.length) return false;
  return inbox
    .prepare<[], { seq: number; pruned: number }>("SELECT seq, body IS NULL AS pruned FROM events")
    .all()
    .every(({ seq, pruned }) => {
      const state = rows.get(seq);
      if (pruned === 1) return effectual.has(seq) && (state === undefined || state === "done");
      if (seq <= position && state === undefined) return false;
      return effectual.has(seq) === (state === "done");
    });
}
