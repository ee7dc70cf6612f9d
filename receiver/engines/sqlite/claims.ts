import type Database from "better-sqlite3";
import type { FanOut } from "./fan-out.ts";
import { HANDLERS_PER_EVENT, type Handlers, type KnownHandler } from "./handlers.ts";
import { keyOf } from "./inbox-file.ts";
import { createRateLimits } from "./rate-limits.ts";
import { createTake, createTaking, HALF_OF_CHARACTERS, type Buried, type ClaimedJob } from "./taking.ts";
import { createWaiting, type Room } from "./waiting.ts";

const FIND_SEQ = `SELECT seq FROM events WHERE key = ?`;
const FIND_LAST_SEQ = `SELECT max(seq) FROM events`;

/** Who claims, and when. */
export type Claimant = { nowMs: number; worker: number };

/**
 * Claims jobs. The verbs that do want a transaction of the caller's. Retries that are due get half of the places when new
 * jobs wait too, and the other way round; handlers take turns in both. Large events are claimed a few at a time.
 */
export function createClaims(options: {
  db: Database.Database;
  inbox: Database.Database;
  handlers: Handlers;
  fanOut: FanOut;
}) {
  const { db, inbox, handlers, fanOut } = options;
  const rates = createRateLimits(db);
  const waiting = createWaiting({ db, handlers, fanOut, rates });
  const taking = createTaking({ ...options, rates });
  const findSeq = inbox.prepare<[Buffer], number>(FIND_SEQ).pluck();
  const findLastSeq = inbox.prepare<[], number | null>(FIND_LAST_SEQ).pluck();
  /** Whether there are events that no worker has looked at. */
  const hasArrived = (): boolean => (findLastSeq.get() ?? 0) > fanOut.position();

  return {
    hasArrived,
    /** Whether there is anything to claim. Only reads. */
    isAny: ({ nowMs, room }: { nowMs: number; room: Room }): boolean =>
      hasArrived() || waiting.any(nowMs, room),
    hasDueSuspect: (nowMs: number): boolean => {
      handlers.refresh();
      return waiting.suspect(nowMs) !== undefined;
    },

    /** Up to `limit`, and no more of a handler than there is `room`; with 0 new events are only split into their jobs. */
    claim({ nowMs, worker, limit, room }: Claimant & { limit: number; room: Room }): {
      claimed: ClaimedJob[];
      buried: Buried[];
    } {
      handlers.refresh();
      const take = createTake({ nowMs, worker, left: Math.ceil(limit / 2) });
      for (const handler of handlers.own())
        take.room.set(handler, Math.min(room(handler), rates.free(handler, nowMs)));
      const roomLeft = (handler: KnownHandler): number => take.room.get(handler) ?? 0;
      taking.splitOffered(take);
      const due = waiting.due(nowMs, limit, roomLeft);
      const rest = due.filter((job) => !taking.claimWaiting(job, take));
      take.left = limit - take.claimed.length;
      take.characters += HALF_OF_CHARACTERS;
      for (const job of waiting.fresh(nowMs, take.left, roomLeft)) taking.claimWaiting(job, take);
      taking.splitArrived(take);
      for (const job of rest) taking.claimWaiting(job, take);
      return take;
    },

    /** The suspect that is due for the longest time, or undefined. */
    claimSuspect({ nowMs, worker }: Claimant): ClaimedJob | undefined {
      handlers.refresh();
      const suspect = waiting.suspect(nowMs);
      if (suspect === undefined) return undefined;
      const take = createTake({ nowMs, worker, left: 1 });
      taking.claimWaiting(suspect, take);
      return take.claimed[0];
    },

    /** The job of one handler for one event, though it may not be due yet. */
    claimOnly(only: { handler: string; id: string }, { nowMs, worker }: Claimant): ClaimedJob | undefined {
      handlers.refresh();
      const take = createTake({ nowMs, worker, left: 0 });
      taking.splitOffered(take);
      while (hasArrived()) taking.splitArrived(take);
      const handler = handlers.own().find(({ name }) => name === only.handler);
      const seq = findSeq.get(keyOf(only.id));
      take.left = 1;
      if (handler && seq !== undefined) taking.claimWaiting(seq * HANDLERS_PER_EVENT + handler.number, take);
      return take.claimed[0];
    },
  };
}

export type Claims = ReturnType<typeof createClaims>;
