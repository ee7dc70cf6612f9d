import type Database from "better-sqlite3";
import { HANDLERS_PER_EVENT, type KnownHandler } from "./handlers.ts";

const COUNT = `UPDATE position SET seq = $seq, deleted = deleted + $deleted`;
const FIND_POSITION = `SELECT seq FROM position`;
const ADD_CLAIMED = `INSERT INTO jobs (job, state, attempts, token, worker) VALUES (?, 'claimed', 1, 1, ?)`;
const ADD = `
  INSERT INTO jobs (job, state, attempts, token, worker, due_at_ms, finished_at_ms, last_error, key, requeued_at_ms)
  VALUES ($job, $state, $attempts, $token, $worker, $dueAtMs, $finishedAtMs, $error, $key, $requeuedAtMs)`;
const HAS_UNFINISHED = `SELECT EXISTS (SELECT 1 FROM jobs INDEXED BY jobs_keyed WHERE handler = ? AND key = ?)`;
// The first of them that waits; those of a finished job have no key any more.
const RELEASE_NEXT = `
  UPDATE jobs SET state = 'fresh', due_at_ms = 0 WHERE job = (
    SELECT job FROM jobs INDEXED BY jobs_keyed WHERE handler = ? AND key = ? AND state = 'held' ORDER BY job LIMIT 1)`;
const LIST_OFFERED = `
  SELECT job, handler, attempts, token, due_at_ms AS dueAtMs, last_error AS error, requeued_at_ms AS requeuedAtMs
  FROM jobs INDEXED BY jobs_waiting WHERE due_at_ms IS NOT NULL AND state = 'offered' ORDER BY job LIMIT ?`;
const LIST_OFFERED_TO = `
  SELECT DISTINCT handler FROM jobs INDEXED BY jobs_waiting WHERE due_at_ms IS NOT NULL AND state = 'offered'`;
const REMOVE = `DELETE FROM jobs WHERE job = ?`;

/** What a job's row says besides its place. */
type Row = {
  attempts: number;
  token: number;
  dueAtMs: number | null;
  error: string | null;
  requeuedAtMs: number | null;
};

const NEW: Row = { attempts: 0, token: 0, dueAtMs: 0, error: null, requeuedAtMs: null };

export type Offered = Row & { job: number; handler: number };

/** What is needed of an event to make its jobs. */
type Event = { seq: number; type: string; body: string };

/** How a job begins: in the hands of `worker`, waiting, or ended at once. */
export type Begun =
  | { state: "claimed"; job: number; key: string | null }
  | { state: "waiting" }
  | { state: "dead"; error: string };

/** Makes the jobs of events. The verbs want a transaction of the caller's. */
export function createFanOut(db: Database.Database) {
  const findPosition = db.prepare<[], number>(FIND_POSITION).pluck();
  const count = db.prepare<[{ seq: number; deleted: number }]>(COUNT);
  const addClaimed = db.prepare<[number, number]>(ADD_CLAIMED);
  const add = db.prepare(ADD);
  const hasUnfinished = db.prepare<[number, string], number>(HAS_UNFINISHED).pluck();
  const releaseNext = db.prepare<[number, string]>(RELEASE_NEXT);
  const listOffered = db.prepare<[number], Offered>(LIST_OFFERED);
  const listOfferedTo = db.prepare<[], number>(LIST_OFFERED_TO).pluck();
  const remove = db.prepare<[number]>(REMOVE);

  return {
    position: (): number => findPosition.get() ?? 0,
    moveTo: (seq: number, deleted: number): void => void count.run({ seq, deleted }),
    offered: (limit: number): Offered[] => listOffered.all(limit),
    /** Numbers of the handlers that have to look at one; 0 for all that want its event. */
    offeredTo: (): number[] => listOfferedTo.all(),
    remove: (job: number): void => void remove.run(job),
    releaseNext: (handler: number, key: string): void => void releaseNext.run(handler, key),

    /** The job of `handler`; claimed at once for `worker`, when one is given and nothing with its key is before it. */
    add(
      event: Event,
      handler: KnownHandler,
      { worker, row = NEW, nowMs }: { worker: number | undefined; row?: Row; nowMs: number },
    ): Begun {
      const job = event.seq * HANDLERS_PER_EVENT + handler.number;
      const { policy } = handler;
      if (policy && policy.key === undefined && worker !== undefined && row === NEW) {
        addClaimed.run(job, worker);
        return { state: "claimed", job, key: null };
      }
      const dueAtMs = row.dueAtMs ?? 0;
      const values = { ...row, job, worker: null, dueAtMs, finishedAtMs: null, key: null };
      // Known to another process only, which has its key.
      if (!policy) {
        add.run({ ...values, state: "offered" });
        return { state: "waiting" };
      }
      const keyed = keyOf(policy.key, event.body);
      if (!keyed.ok) {
        add.run({ ...values, state: "dead", error: keyed.error, dueAtMs: null, finishedAtMs: nowMs });
        return { state: "dead", error: keyed.error };
      }
      const { key } = keyed;
      if (key !== null && hasUnfinished.get(handler.number, key) === 1) {
        add.run({ ...values, state: "held", key, dueAtMs: null });
        return { state: "waiting" };
      }
      if (worker !== undefined && row === NEW) {
        add.run({ ...values, state: "claimed", attempts: 1, token: 1, worker, key, dueAtMs: null });
        return { state: "claimed", job, key };
      }
      if (row.attempts > 0) add.run({ ...values, state: "pending", key });
      else add.run({ ...values, state: "fresh", dueAtMs: 0, key });
      return { state: "waiting" };
    },

    /** The one row of an event that no handler wants. */
    addIgnored(seq: number, nowMs: number): void {
      const values = { ...NEW, worker: null, dueAtMs: null, key: null };
      add.run({ ...values, job: seq * HANDLERS_PER_EVENT, state: "ignored", finishedAtMs: nowMs });
    },
  };
}

export type FanOut = ReturnType<typeof createFanOut>;

function keyOf(
  key: ((body: string) => string) | undefined,
  body: string,
): { ok: true; key: string | null } | { ok: false; error: string } {
  try {
    return { ok: true, key: key ? key(body) : null };
  } catch (error) {
    return { ok: false, error: `The handler's key failed: ${String(error)}` };
  }
}
