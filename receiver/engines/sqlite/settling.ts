import type Database from "better-sqlite3";
import { fateOf, UNKNOWN_POLICY, VANISHED, type Ending } from "../ending.ts";
import { HANDLERS_PER_EVENT, type Handlers } from "./handlers.ts";
import type { ClaimedJob, Lease } from "./taking.ts";

const HELD = `WHERE job = ? AND token = ? AND state = 'claimed'`;

const FIND_STEP = `SELECT result FROM steps WHERE job = ? AND name = ?`;
const RECORD_STEP = `INSERT INTO steps VALUES (?, ?, ?) ON CONFLICT (job, name) DO UPDATE SET result = excluded.result`;

type Claimed = Lease & { handler: number; attempts: number; key: string | null };

/**
 * How claims end, a statement or two each. None of the verbs opens a transaction: the caller does, with as many of them
 * inside as belong together. Those that take a lease answer false when it was lost, and change nothing then.
 */
export function createSettling({ db, handlers }: { db: Database.Database; handlers: Handlers }) {
  const end = db.prepare(`
    UPDATE jobs SET state = ?, handled = handled + ?, crashes = 0, finished_at_ms = ?, last_error = ?, key = NULL,
      worker = NULL ${HELD}`);
  const putOff = db.prepare(`
    UPDATE jobs SET state = 'pending', attempts = attempts - ?, due_at_ms = ?, deferred = ?, crashes = 0, last_error = ?,
      worker = NULL ${HELD}`);
  // The next job with the same key that waits; a finished job has no key any more.
  const releaseNext = db.prepare<[number, string]>(`
    UPDATE jobs SET state = 'fresh', due_at_ms = 0 WHERE job = (
      SELECT job FROM jobs INDEXED BY jobs_keyed WHERE handler = ? AND key = ? AND state = 'held' ORDER BY job LIMIT 1)`);
  // A suspect stays a suspect.
  const giveBack = db.prepare<[number, number]>(`
    UPDATE jobs SET state = CASE WHEN crashes > 0 THEN 'suspect' ELSE 'pending' END,
      due_at_ms = 0, attempts = attempts - 1, worker = NULL ${HELD}`);
  const findClaimedBy = db.prepare<[number], Claimed>(`
    SELECT job, token, handler, attempts, key FROM jobs INDEXED BY jobs_claimed WHERE worker IS NOT NULL AND worker = ?`);
  const suspect = db.prepare(`
    UPDATE jobs SET state = 'suspect', attempts = ?, due_at_ms = ?, crashes = crashes + 1, worker = NULL, last_error = ? ${HELD}`);
  const isHeld = db.prepare<[number, number], number>(`SELECT EXISTS (SELECT 1 FROM jobs ${HELD})`).pluck();
  const findStep = db.prepare<[number, string], string>(FIND_STEP).pluck();
  const recordStep = db.prepare<[number, string, string]>(RECORD_STEP);
  const deleteSteps = db.prepare<[number]>(`DELETE FROM steps WHERE job = ?`);
  const withSteps = new Set<number>();

  return {
    /** Writes down how an attempt ended, `nowMs`. */
    settle({ job, token, key }: ClaimedJob, ending: Ending, nowMs: number): boolean {
      const { state, error, delayMs = 0, deferred = false } = ending;
      // Only a claim before this one, or this one itself, can have recorded any.
      const hasSteps = withSteps.delete(job) || token > 1;
      if (state === "pending") {
        const uncounted = deferred ? 1 : 0;
        return putOff.run(uncounted, nowMs + delayMs, uncounted, error, job, token).changes === 1;
      }
      const isFinished = finish({ job, token, key, handler: job % HANDLERS_PER_EVENT }, state, error, nowMs);
      if (isFinished && state === "done" && hasSteps) deleteSteps.run(job);
      return isFinished;
    },
    /** Gives a job back unhandled: its worker is shutting down, so the attempt doesn't count. */
    return: ({ job, token }: Lease): boolean => giveBack.run(job, token).changes === 1,

    /** Returns what a worker has claimed and does not know of: a commit may report a failure, and have succeeded. */
    returnUnknown(worker: number, known: ReadonlySet<number>): void {
      for (const { job, token } of findClaimedBy.all(worker)) if (!known.has(job)) giveBack.run(job, token);
    },

    /** Takes back what a vanished worker held. */
    takeBack(worker: number, nowMs: number, why: "expired" | "crashed"): void {
      handlers.refresh();
      const held = findClaimedBy.all(worker);
      for (const one of held) {
        const policy = handlers.find(one.handler)?.policy ?? UNKNOWN_POLICY;
        const fate = fateOf({ attempts: one.attempts, alone: held.length === 1, why }, policy);
        if (fate.state === "dead") finish(one, "dead", VANISHED, nowMs);
        else {
          const dueAtMs = fate.delayMs === 0 ? 0 : nowMs + fate.delayMs;
          suspect.run(fate.attempts, dueAtMs, VANISHED, one.job, one.token);
        }
      }
    },

    findStep: (job: number, name: string): string | undefined => findStep.get(job, name),
    recordStep({ job, token }: Lease, name: string, json: string): boolean {
      if (isHeld.get(job, token) !== 1) return false;
      recordStep.run(job, name, json);
      withSteps.add(job);
      return true;
    },
  };

  /** Ends a job for good, and lets the next one with its key go. */
  function finish(
    { job, token, handler, key }: Omit<Claimed, "attempts">,
    state: string,
    error: string | null,
    nowMs: number,
  ): boolean {
    if (end.run(state, state === "done" ? 1 : 0, nowMs, error, job, token).changes === 0) return false;
    if (key !== null) releaseNext.run(handler, key);
    return true;
  }
}

export type Settling = ReturnType<typeof createSettling>;
