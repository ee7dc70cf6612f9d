import { chmodSync, mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import type Database from "better-sqlite3";
import { z } from "zod";

const findingsSchema = z.array(z.object({ integrity_check: z.string() }));

const FIND_ORPHANS = `SELECT count(*) AS ids FROM ids WHERE seq > (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events')`;
const FIND_WRONG_TALLIES = `SELECT count(*) AS states FROM tallies WHERE events <> (SELECT count(*) FROM work WHERE work.state = tallies.state)`;
const FIND_EVENTS_WITHOUT_ID = `SELECT count(*) AS events FROM events WHERE seq NOT IN (SELECT seq FROM ids)`;

/** Reads both files from end to end and answers one line for everything that is wrong with them. */
export function check({ inbox, db }: { inbox: Database.Database; db: Database.Database }): string[] {
  const findings: string[] = [];
  for (const file of [inbox, db]) {
    for (const finding of findingsSchema.parse(file.pragma("integrity_check"))) {
      if (finding.integrity_check !== "ok") findings.push(`${file.name}: ${finding.integrity_check}`);
    }
  }
  const orphans = inbox.prepare<[], { ids: number }>(FIND_ORPHANS).get()?.ids ?? 0;
  if (orphans > 0) findings.push(`${inbox.name}: ${String(orphans)} ids name an event that never was.`);
  const nameless = inbox.prepare<[], { events: number }>(FIND_EVENTS_WITHOUT_ID).get()?.events ?? 0;
  if (nameless > 0)
    findings.push(`${inbox.name}: ${String(nameless)} events have no id to recognise duplicates by.`);
  const wrong = db.prepare<[], { states: number }>(FIND_WRONG_TALLIES).get()?.states ?? 0;
  if (wrong > 0) findings.push(`${db.name}: ${String(wrong)} states are tallied wrongly.`);
  return findings;
}

/**
 * Copies both files into `directory` while they are in use. The work file goes first: restored together, the inbox
 * then has at least every event that the work file has seen, and what it has more is handled (again).
 */
export async function backup(options: {
  inbox: Database.Database;
  db: Database.Database;
  directory: string;
}): Promise<string[]> {
  mkdirSync(options.directory, { recursive: true, mode: 0o700 });
  const copies: string[] = [];
  for (const source of [options.db, options.inbox]) {
    const copy = join(options.directory, basename(source.name));
    await source.backup(copy);
    chmodSync(copy, 0o600);
    copies.push(copy);
  }
  return copies;
}
