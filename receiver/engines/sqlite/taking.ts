import type Database from "better-sqlite3";
import { z } from "zod";
import type { Trace } from "../../engine.ts";
import type { FanOut, Offered } from "./fan-out.ts";
import { HANDLERS_PER_EVENT, type Handlers, type KnownHandler } from "./handlers.ts";
import type { RateLimits } from "./rate-limits.ts";

/** Envelopes may have a megabyte, and those of a claim are in memory together. One half is for retries, if new events wait too. */
export const HALF_OF_CHARACTERS = 4_194_304;

/** New events that one transaction looks at, when their handlers are full. */
const LARGEST_LOOK = 512;

/** The holder of a claim: only with the latest token may anything be written. */
export type Lease = { job: number; token: number };

/** A job that was claimed, with all that its handler needs. */
export type ClaimedJob = Lease & {
  handler: KnownHandler;
  id: string;
  type: string;
  receivedAtMs: number;
  waitingSinceMs: number;
  body: string;
  trace: Trace | null;
  attempts: number;
  key: string | null;
  suspect: boolean;
};

/** One that ended before its first attempt, since its handler could not tell its key. */
export type Buried = { handler: KnownHandler; id: string; type: string; error: string };

type EventRow = {
  seq: number;
  id: string;
  type: string;
  receivedAtMs: number;
  body: string | null;
  trace: string | null;
};
type JobRow = {
  attempts: number;
  token: number;
  crashes: number;
  key: string | null;
  requeuedAtMs: number | null;
};

const EVENT_COLUMNS = `
  seq, 'evt_' || lower(hex(key)) AS id, type, received_at_ms AS receivedAtMs, CAST(body AS TEXT) AS body, trace`;
const FIND_ARRIVED = `SELECT ${EVENT_COLUMNS} FROM events WHERE seq > ? ORDER BY seq LIMIT ${String(LARGEST_LOOK)}`;
const FIND_EVENT = `SELECT ${EVENT_COLUMNS} FROM events WHERE seq = ?`;
const CLAIM = `
  UPDATE jobs SET state = 'claimed', attempts = attempts + 1, token = token + 1, worker = ?, due_at_ms = NULL, deferred = 0
  WHERE job = ? AND due_at_ms IS NOT NULL RETURNING attempts, token, crashes, key, requeued_at_ms AS requeuedAtMs`;

// Only files that come from different backups make this happen.
const GIVE_UP = `
  UPDATE jobs SET state = 'dead', due_at_ms = NULL, key = NULL, finished_at_ms = ?,
    last_error = 'Its envelope is not in the inbox file.'
  WHERE job = ? AND due_at_ms IS NOT NULL`;

const traceSchema = z.object({ traceparent: z.string().optional(), requestId: z.string().optional() });

/** What one claim may still take. */
export type Take = {
  nowMs: number;
  worker: number;
  left: number;
  characters: number;
  /** Of handlers with a limit of their own. */
  room: Map<KnownHandler, number>;
  claimed: ClaimedJob[];
  buried: Buried[];
};

export function createTake(given: Pick<Take, "nowMs" | "worker" | "left">): Take {
  return { ...given, characters: HALF_OF_CHARACTERS, room: new Map(), claimed: [], buried: [] };
}

/** Takes jobs into a claim: those that wait, and those that it makes of new events. The verbs want a transaction of the caller's. */
export function createTaking(options: {
  db: Database.Database;
  inbox: Database.Database;
  handlers: Handlers;
  fanOut: FanOut;
  rates: RateLimits;
}) {
  const { db, inbox, handlers, fanOut, rates } = options;
  const findArrived = inbox.prepare<[number], EventRow>(FIND_ARRIVED);
  const findEvent = inbox.prepare<[number], EventRow>(FIND_EVENT);
  const claimRow = db.prepare<[number, number], JobRow>(CLAIM);
  const giveUp = db.prepare<[number, number]>(GIVE_UP);

  return { claimWaiting, splitArrived, splitOffered };

  /** Claims a job that waits. False when there was no room for it. */
  function claimWaiting(job: number, take: Take): boolean {
    const handler = handlers.find(job % HANDLERS_PER_EVENT);
    if (!handler || take.left <= 0 || take.characters <= 0 || take.room.get(handler) === 0) return false;
    const event = findEvent.get(Math.floor(job / HANDLERS_PER_EVENT));
    if (!event?.body) {
      giveUp.run(take.nowMs, job);
      return true;
    }
    const row = claimRow.get(take.worker, job);
    if (row) push(take, event, event.body, { job, handler, ...row });
    return true;
  }

  /** Splits the next events that nobody has looked at yet into jobs, and claims those that there is room for. */
  function splitArrived(take: Take): void {
    let last: number | undefined;
    let deleted = 0;
    if (take.left <= 0 && take.claimed.length > 0) return;
    for (const event of findArrived.iterate(fanOut.position())) {
      last = event.seq;
      // Pruned, and the work file was lost since: it was handled then.
      if (event.body === null) deleted += 1;
      else split(event, event.body, take);
      if (take.left <= 0 && take.claimed.length > 0) break;
      if (take.characters <= 0) break;
    }
    if (last !== undefined) fanOut.moveTo(last, deleted);
  }

  function split(event: EventRow, body: string, take: Take): void {
    const wanting = handlers.wanting(event.type);
    if (wanting.length === 0) fanOut.addIgnored(event.seq, take.nowMs);
    for (const handler of wanting) addJob(event, body, handler, take);
  }

  function addJob(event: EventRow, body: string, handler: KnownHandler, take: Take, from?: Offered): void {
    const isRoom = take.left > 0 && take.characters > 0 && (take.room.get(handler) ?? 0) > 0;
    const { seq, id, type } = event;
    const begun = fanOut.add({ seq, type, body }, handler, {
      nowMs: take.nowMs,
      worker: isRoom && !from ? take.worker : undefined,
      ...(from ? { row: from } : {}),
    });
    if (begun.state === "dead") take.buried.push({ handler, id, type, error: begun.error });
    if (begun.state !== "claimed") return;
    const { job, key } = begun;
    push(take, event, body, { job, handler, attempts: 1, token: 1, crashes: 0, key, requeuedAtMs: null });
  }

  /** Takes up what was requeued, or stored before there were jobs. */
  function splitOffered(take: Take): void {
    for (const offered of fanOut.offered(LARGEST_LOOK)) {
      const seq = Math.floor(offered.job / HANDLERS_PER_EVENT);
      const event = findEvent.get(seq);
      if (!event?.body) giveUp.run(take.nowMs, offered.job);
      else if (offered.handler === 0) splitAnew(event, event.body, offered, take);
      else splitRequeued(event, event.body, offered, take);
    }
  }

  function splitAnew(event: EventRow, body: string, offered: Offered, take: Take): void {
    fanOut.remove(offered.job);
    const wanting = handlers.wanting(event.type);
    if (wanting.length === 0) fanOut.addIgnored(event.seq, take.nowMs);
    for (const handler of wanting) addJob(event, body, handler, take, offered);
  }

  function splitRequeued(event: EventRow, body: string, offered: Offered, take: Take): void {
    const handler = handlers.find(offered.handler);
    // Another worker's; it knows the key.
    if (!handler?.policy) return;
    fanOut.remove(offered.job);
    addJob(event, body, handler, take, offered);
  }

  function push(
    take: Take,
    { id, type, receivedAtMs, trace }: EventRow,
    body: string,
    row: JobRow & { job: number; handler: KnownHandler },
  ): void {
    const { job, handler, attempts, token, crashes, key, requeuedAtMs } = row;
    take.left -= 1;
    take.characters -= body.length;
    const room = take.room.get(handler);
    if (room !== undefined) take.room.set(handler, room - 1);
    rates.begin(handler, take.nowMs);
    take.claimed.push({
      job,
      token,
      handler,
      id,
      type,
      receivedAtMs,
      waitingSinceMs: requeuedAtMs ?? receivedAtMs,
      body,
      trace: trace === null ? null : traceSchema.parse(JSON.parse(trace)),
      attempts,
      key,
      suspect: crashes > 0,
    });
  }
}
