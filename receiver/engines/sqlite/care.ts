import { closeSync, fchmodSync, existsSync, mkdirSync, openSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type Database from "better-sqlite3";
import type { Files } from "./database.ts";

const FIND_POSITION = `SELECT seq, deleted FROM position`;
const COUNT_EVENTS = `SELECT count(*) FROM (SELECT DISTINCT job / 1024 FROM jobs)`;
const FIND_UNFINISHED = `SELECT DISTINCT job / 1024 FROM jobs WHERE state NOT IN ('done', 'ignored', 'pruned')`;
const HAS_BODY = `SELECT body IS NOT NULL FROM events WHERE seq = ?`;

/** Reads both files from end to end and answers one line for everything that is wrong with them. */
export function check({ inbox, db }: Files): string[] {
  const findings: string[] = [];
  for (const file of [inbox, db]) {
    try {
      for (const finding of file.prepare<[], string>(`PRAGMA integrity_check`).pluck().all()) {
        if (finding !== "ok") findings.push(`${file.name}: ${finding}`);
      }
    } catch (error) {
      // The check itself may fail on a damaged file.
      findings.push(`${file.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  // The other checks only make sense for files without damage.
  if (findings.length > 0) return findings;
  const position = db.prepare<[], { seq: number; deleted: number }>(FIND_POSITION).get();
  const lastSeq = inbox.prepare<[], number>(`SELECT coalesce(max(seq), 0) FROM events`).pluck().get() ?? 0;
  if (position && position.seq > lastSeq) findings.push(`${db.name}: it is ahead of ${inbox.name}.`);
  const events = db.prepare<[], number>(COUNT_EVENTS).pluck().get() ?? 0;
  if (position && events !== position.seq - position.deleted) {
    findings.push(
      `${db.name}: it knows ${String(events)} events where ${String(position.seq - position.deleted)} belong.`,
    );
  }
  const hasBody = inbox.prepare<[number], number>(HAS_BODY).pluck();
  let missing = 0;
  for (const seq of db.prepare<[], number>(FIND_UNFINISHED).pluck().iterate()) {
    if (hasBody.get(seq) !== 1) missing += 1;
  }
  if (missing > 0)
    findings.push(`${inbox.name}: ${String(missing)} unfinished events have lost their envelope.`);
  return findings;
}

/**
 * Copies both files into `directory` while they are in use, each as it was at one moment; writers do not wait, and do
 * not make it start over. The work file goes first: restored together, the inbox then has at least every event that the
 * work file has seen, and what it has more is handled (again). Nothing that is there already is overwritten, and a copy
 * has its name only once it is whole.
 */
export function backup({ inbox, db, directory }: Files & { directory: string }): string[] {
  const sources = [db, inbox];
  const above = dirname(resolve(directory));
  // One folder is made; more of them would hide that the name was mistyped.
  if (!existsSync(above)) throw new Error(`There is no folder ${above}: make it, or name another.`);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const copies = sources.map((source) => join(directory, basename(source.name)));
  const taken = copies.find((copy) => existsSync(copy));
  if (taken !== undefined)
    throw new Error(`${taken} is there already. Name another directory, or move it away.`);
  for (const [index, source] of sources.entries()) copyInto(source, `${copies[index] ?? ""}.part`);
  for (const copy of copies) renameSync(`${copy}.part`, copy);
  return copies;
}

function copyInto(source: Database.Database, copy: string): void {
  rmSync(copy, { force: true });
  // SQLite fills an empty file that is there, and leaves it readable by its owner alone.
  const descriptor = openSync(copy, "wx", 0o600);
  fchmodSync(descriptor, 0o600);
  closeSync(descriptor);
  source.prepare<[string]>(`VACUUM INTO ?`).run(copy);
}
