import { LONGEST_DELAY_MS } from "../ending.ts";
import type { Files } from "./database.ts";
import { HANDLERS_PER_EVENT, type Handlers, type KnownHandler } from "./handlers.ts";
import { keyOf } from "./inbox-file.ts";
import { createTake, createTaking, HALF_OF_CHARACTERS, type Take } from "./taking.ts";

/** A due time further ahead than anything we ever set means that the clock was turned back: it counts as due. */
const LONGEST_DUE_MS = 2 * LONGEST_DELAY_MS;

// INDEXED BY, because SQLite keeps no statistics here: on a long queue the wrong index is the difference between
// looking at one row and sorting all of them. A missing index is an error then.
const WAITING = `FROM jobs INDEXED BY jobs_waiting WHERE due_at_ms IS NOT NULL AND state =`;
const IS_THERE = `SELECT EXISTS (SELECT 1 FROM jobs INDEXED BY jobs_waiting WHERE due_at_ms IS NOT NULL)`;
// What lies ahead of the clock was written before it was turned back.
const COUNT_STARTS = `SELECT count(*) FROM starts WHERE handler = ? AND at_ms > ? AND at_ms <= ?`;

/** What somebody claims, and who: the worker's number is only asked for where there is something to claim. */
type Asked = Pick<Take, "nowMs" | "worker"> & {
  limit: number;
  /** How many more jobs of this handler may be claimed. */
  room: (handler: string) => number;
  /** What may be claimed. `later`: only others. `wait`: nothing while a suspect is due. `now`: a suspect that is due, alone. */
  suspects: "later" | "wait" | "now";
  only?: { handler: string; id: string } | undefined;
};

type Waiting = { job: number; dueAtMs: number };

/**
 * Claims jobs; `claim` wants a transaction of the caller's. Retries that are due get half of the places when new jobs
 * wait too, and the other way round; handlers take turns in both. Large events are claimed a few at a time.
 */
export function createClaims(options: Files & { handlers: Handlers }) {
  const { db, inbox, handlers } = options;
  const taking = createTaking(options);
  const findSeq = inbox.prepare<[Buffer], number>(`SELECT seq FROM events WHERE key = ?`).pluck();
  const isThere = db.prepare<[], number>(IS_THERE).pluck();
  const findDue = db.prepare<[string, number, number, number, number], Waiting>(`
    SELECT job, due_at_ms AS dueAtMs ${WAITING} ? AND handler = ? AND due_at_ms BETWEEN ? AND ? ORDER BY due_at_ms, job LIMIT ?`);
  const countStarts = db.prepare<[number, number, number], number>(COUNT_STARTS).pluck();
  let turn = 0;

  return {
    hasArrived: taking.hasArrived,
    /** Whether a job waits, due or not. */
    isAnyWaiting: (): boolean => isThere.get() === 1,
    /** Writes nothing where nothing is due. With a limit of 0, new events are only split into their jobs. */
    claim({ nowMs, worker, limit, room, suspects, only }: Asked): Pick<Take, "claimed" | "buried"> {
      handlers.refresh();
      handlers.ignoreGone(nowMs);
      const take = createTake({ nowMs, worker, left: Math.ceil(limit / 2) });
      if (only) return claimOnly(only, take);
      const suspect = suspects === "later" ? undefined : findSuspect(nowMs);
      if (suspect) {
        if (suspects === "now") taking.claimWaiting(suspect.job, take);
        return take;
      }
      for (const handler of handlers.own())
        take.room.set(handler, Math.min(room(handler.name), free(handler, nowMs)));
      taking.splitOffered(take);
      if (limit > 0) turn += 1;
      const retries = inTurns("pending", limit, take);
      const rest = retries.filter(({ job }) => !taking.claimWaiting(job, take));
      take.left = limit - take.claimed.length;
      take.characters += HALF_OF_CHARACTERS;
      for (const { job } of inTurns("fresh", take.left, take)) taking.claimWaiting(job, take);
      taking.splitArrived(take);
      for (const { job } of rest) taking.claimWaiting(job, take);
      return take;
    },
  };

  /** The job of one handler for one event, though it may not be due yet. */
  function claimOnly({ handler: name, id }: { handler: string; id: string }, take: Take): Take {
    take.left = 0;
    taking.splitOffered(take);
    while (taking.hasArrived()) taking.splitArrived(take);
    const handler = handlers.own().find((own) => own.name === name);
    const seq = findSeq.get(keyOf(id));
    take.left = 1;
    if (handler && seq !== undefined) taking.claimWaiting(seq * HANDLERS_PER_EVENT + handler.number, take);
    return take;
  }

  /** Jobs of a handler that wait in this state and are due; those that are fresh are due at once. */
  function due(state: string, { number }: KnownHandler, nowMs: number, limit: number): Waiting[] {
    const come = findDue.all(state, number, 0, nowMs, limit);
    const turnedBack = findDue.all(state, number, nowMs + LONGEST_DUE_MS, Number.MAX_SAFE_INTEGER, limit);
    return [...come, ...turnedBack];
  }

  /** The suspect that is due for the longest time. */
  function findSuspect(nowMs: number): Waiting | undefined {
    const suspects = handlers
      .own()
      .flatMap((handler) => (free(handler, nowMs) > 0 ? due("suspect", handler, nowMs, 1) : []));
    return suspects.toSorted((a, b) => a.dueAtMs - b.dueAtMs || a.job - b.job)[0];
  }

  /** How many attempts of a handler may begin now, of all workers together. */
  function free({ number, policy }: KnownHandler, nowMs: number): number {
    if (!policy?.rateLimit) return Infinity;
    const { limit, perMs } = policy.rateLimit;
    return Math.max(0, limit - (countStarts.get(number, nowMs - perMs, nowMs) ?? 0));
  }

  /** One job of each handler in turn; every claim begins with another handler. */
  function inTurns(state: string, limit: number, { nowMs, room }: Take): Waiting[] {
    if (limit <= 0 || isThere.get() !== 1) return [];
    const own = handlers.own();
    const queues = own.map((_, index) => {
      const handler = own[(index + turn) % own.length];
      const most = handler ? Math.min(limit, room.get(handler) ?? 0) : 0;
      return handler && most > 0 ? due(state, handler, nowMs, most) : [];
    });
    const longest = Math.max(0, ...queues.map(({ length }) => length));
    const jobs = Array.from({ length: longest }, (_, at) => queues.flatMap((queue) => queue[at] ?? []));
    return jobs.flat().slice(0, limit);
  }
}

export type Claims = ReturnType<typeof createClaims>;
