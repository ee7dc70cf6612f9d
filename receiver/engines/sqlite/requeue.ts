import type Database from "better-sqlite3";
import { announcedHandlers, HANDLERS_PER_EVENT, wants } from "./handlers.ts";

const OFFER = `
  UPDATE jobs SET state = 'offered', due_at_ms = 0, attempts = 0, crashes = 0, token = token + 1, deferred = 0,
    finished_at_ms = NULL, last_error = NULL, requeued_at_ms = ?
  WHERE job = ? AND (state = 'dead' OR state = 'ignored')`;
const LIST_JOBS = `SELECT handler, state FROM jobs WHERE job BETWEEN ? AND ?`;
const ADD = `INSERT INTO jobs (job, state, attempts, token, due_at_ms, requeued_at_ms) VALUES (?, 'offered', 0, 0, 0, ?)`;
const REMOVE_NOBODYS = `DELETE FROM jobs WHERE job = ? AND (state = 'dead' OR state = 'ignored')`;
const FIND_TYPE = `SELECT type FROM events WHERE seq = ? AND body IS NOT NULL`;
const WAS_THERE = `SELECT before_jobs FROM handlers WHERE name = ?`;

/**
 * Answers a function that makes an event's dead or ignored jobs wait again, or only that of `handler`, which gets one if
 * it has none. False when that changed nothing. It wants a transaction of the caller's. Its jobs are offered to the
 * worker, for only that can tell a job's key.
 */
export function createRequeue({ inbox, db }: { inbox: Database.Database; db: Database.Database }) {
  const offer = db.prepare<[number, number]>(OFFER);
  const listJobs = db.prepare<[number, number], { handler: number; state: string }>(LIST_JOBS);
  const add = db.prepare<[number, number]>(ADD);
  const removeNobodys = db.prepare<[number]>(REMOVE_NOBODYS);
  const findType = inbox.prepare<[number], string>(FIND_TYPE).pluck();
  const wasThere = db.prepare<[string], number>(WAS_THERE).pluck();

  return (seq: number, handler: string | undefined, nowMs: number): boolean => {
    const first = seq * HANDLERS_PER_EVENT;
    const jobs = listJobs.all(first, first + HANDLERS_PER_EVENT - 1);
    if (handler === undefined) {
      return jobs.filter(({ handler: number }) => offer.run(nowMs, first + number).changes === 1).length > 0;
    }
    const known = announcedHandlers(db).find(({ name }) => name === handler);
    const type = findType.get(seq);
    // One that no worker has looked at gets its jobs anyway.
    if (!known || type === undefined || jobs.length === 0) return false;
    const [own] = jobs.filter(({ handler: number }) => number === known.number);
    if (own) return offer.run(nowMs, first + known.number).changes === 1;
    if (!wants(known.types, type)) return false;
    const [nobodys] = jobs.filter(({ handler: number }) => number === 0);
    if (nobodys?.state === "offered") return false;
    // Done before there were jobs, and by this handler, as far as anybody can know.
    if (nobodys?.state === "done" && wasThere.get(handler) === 1) return false;
    removeNobodys.run(first);
    add.run(first + known.number, nowMs);
    return true;
  };
}
