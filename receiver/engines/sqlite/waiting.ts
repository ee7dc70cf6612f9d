import type Database from "better-sqlite3";
import { LONGEST_DELAY_MS } from "../ending.ts";
import type { FanOut } from "./fan-out.ts";
import type { Handlers, KnownHandler } from "./handlers.ts";
import type { RateLimits } from "./rate-limits.ts";

/** A due time further ahead than anything we ever set means that the clock was turned back: it counts as come. */
const LONGEST_DUE_MS = 2 * LONGEST_DELAY_MS;

// INDEXED BY, because SQLite keeps no statistics here: on a long queue the wrong index is the difference between
// looking at one row and sorting all of them. A missing index is an error then.
const WAITING = `FROM jobs INDEXED BY jobs_waiting WHERE due_at_ms IS NOT NULL AND state =`;
const IS_THERE = `SELECT EXISTS (SELECT 1 ${WAITING} ?)`;
const FIND_FRESH = `SELECT job ${WAITING} 'fresh' AND handler = ? ORDER BY due_at_ms, job LIMIT ?`;
const FIND_DUE = `SELECT job ${WAITING} 'pending' AND handler = ? AND due_at_ms BETWEEN ? AND ? ORDER BY due_at_ms LIMIT ?`;
const FIND_SUSPECTS = `
  SELECT job, handler ${WAITING} 'suspect' AND (due_at_ms <= ? OR due_at_ms >= ?) ORDER BY due_at_ms, job`;

/** How many more jobs of a handler may be claimed. */
export type Room = (handler: KnownHandler) => number;

/** Which jobs wait and are due, of the handlers that this process can run. Only reads. */
export function createWaiting(options: {
  db: Database.Database;
  handlers: Handlers;
  fanOut: FanOut;
  rates: RateLimits;
}) {
  const { db, handlers, fanOut, rates } = options;
  const isThere = db.prepare<[string], number>(IS_THERE).pluck();
  const findFresh = db.prepare<[number, number], number>(FIND_FRESH).pluck();
  const findDue = db.prepare<[number, number, number, number], number>(FIND_DUE).pluck();
  const findSuspects = db.prepare<[number, number], { job: number; handler: number }>(FIND_SUSPECTS);
  // In one transaction, or each statement would take its locks: it is asked at rest.
  const isAny = db.transaction((nowMs: number, room: Room): boolean => {
    handlers.refresh();
    if (fanOut.offeredTo().some((number) => number === 0 || handlers.find(number)?.policy)) return true;
    // At rest mostly nothing waits, whatever the number of handlers.
    if (isThere.get("pending") !== 1 && isThere.get("fresh") !== 1) return false;
    return handlers.own().some((handler) => {
      const waits = dueOf(handler, nowMs, 1).length > 0 || freshOf(handler, nowMs, 1).length > 0;
      return waits && room(handler) > 0 && rates.free(handler, nowMs) > 0;
    });
  });
  let turn = 0;

  return {
    /** Whether any job waits that there is room for. */
    any: (nowMs: number, room: Room): boolean => isAny(nowMs, room),

    /** Retries that are due, of all handlers in turns. */
    due: (nowMs: number, limit: number, room: Room): number[] =>
      isThere.get("pending") === 1 ? inTurns(dueOf, nowMs, limit, room) : [],

    /** Jobs that wait for their first attempt, of all handlers in turns. */
    fresh: (nowMs: number, limit: number, room: Room): number[] =>
      isThere.get("fresh") === 1 ? inTurns(freshOf, nowMs, limit, room) : [],

    /** The suspect that is due for the longest time. */
    suspect(nowMs: number): number | undefined {
      const suspects = findSuspects.all(nowMs, nowMs + LONGEST_DUE_MS);
      const runnable = suspects.find(({ handler }) => {
        const known = handlers.find(handler);
        return known?.policy !== undefined && rates.free(known, nowMs) > 0;
      });
      return runnable?.job;
    },
  };

  /** One of each handler after the other; every claim begins with another one. */
  function inTurns(
    jobsOf: (handler: KnownHandler, nowMs: number, limit: number) => number[],
    nowMs: number,
    limit: number,
    room: Room,
  ): number[] {
    if (limit <= 0) return [];
    const own = handlers.own();
    turn += 1;
    const queues = own.map((_, index) => {
      const handler = own[(index + turn) % own.length];
      const most = handler ? Math.min(limit, room(handler)) : 0;
      return handler && most > 0 ? jobsOf(handler, nowMs, most) : [];
    });
    const [first = []] = queues;
    if (queues.length === 1) return first;
    const longest = Math.max(0, ...queues.map(({ length }) => length));
    const jobs = Array.from({ length: longest }, (_, at) => queues.flatMap((queue) => queue[at] ?? []));
    return jobs.flat().slice(0, limit);
  }

  function dueOf({ number }: KnownHandler, nowMs: number, limit: number): number[] {
    const due = findDue.all(number, 0, nowMs, limit);
    const turnedBack = findDue.all(number, nowMs + LONGEST_DUE_MS, Number.MAX_SAFE_INTEGER, limit);
    return [...due, ...turnedBack];
  }

  function freshOf({ number }: KnownHandler, _nowMs: number, limit: number): number[] {
    return findFresh.all(number, limit);
  }
}
