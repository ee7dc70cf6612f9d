import { z } from "zod";
import type { Job } from "../loop.ts";
import type { Files } from "./database.ts";
import { HANDLERS_PER_EVENT, type Handlers, type KnownHandler } from "./handlers.ts";

/** Envelopes may have a megabyte, and those of a claim are in memory together. One half is for retries, if new events wait too. */
export const HALF_OF_CHARACTERS = 4_194_304;

/** Maximum number of new events, and of offered jobs, that one transaction looks at. */
const LARGEST_LOOK = 512;

/** The holder of a claim: only while the job is claimed, and with the token of its latest claim, may anything be written. */
export type Lease = { job: number; token: number };

/** A job that was claimed, with all that its handler needs. */
export type ClaimedJob = Lease & Job & { key: string | null };

/** A job that ended before its first attempt, since its handler could not tell its key. */
export type Buried = Record<"handler" | "id" | "type" | "error", string>;

type Event = Pick<ClaimedJob, "id" | "type" | "receivedAtMs"> & {
  seq: number;
  /** Empty once the event is pruned. */
  body: string;
  trace: string | null;
};

/** What a job's row says besides its place. */
type Row = {
  attempts: number;
  token: number;
  dueAtMs: number;
  error: string | null;
  requeuedAtMs: number | null;
};
type ClaimedRow = Pick<Row, "attempts" | "token" | "requeuedAtMs"> & { crashes: number; key: string | null };

const NEW: Row = { attempts: 0, token: 0, dueAtMs: 0, error: null, requeuedAtMs: null };

const EVENT_COLUMNS = `
  seq, 'evt_' || lower(hex(key)) AS id, type, received_at_ms AS receivedAtMs, CAST(coalesce(body, '') AS TEXT) AS body, trace`;
const FIND_ARRIVED = `SELECT ${EVENT_COLUMNS} FROM events WHERE seq > ? ORDER BY seq LIMIT ${String(LARGEST_LOOK)}`;

const INSERT_CLAIMED = `INSERT INTO jobs (job, state, key, worker, attempts, token) VALUES (?, 'claimed', ?, ?, 1, 1)`;
const HAS_UNFINISHED = `SELECT EXISTS (SELECT 1 FROM jobs INDEXED BY jobs_keyed WHERE handler = ? AND key = ?)`;

const traceSchema = z.object({ traceparent: z.string().optional(), requestId: z.string().optional() });

/** What one claim may still take. */
export type Take = {
  nowMs: number;
  worker: () => number;
  left: number;
  characters: number;
  /** How many more jobs of a handler it may take; without an entry, any number. */
  room: Map<KnownHandler, number>;
  claimed: ClaimedJob[];
  buried: Buried[];
};

function hasRoom(handler: KnownHandler, take: Take): boolean {
  return take.left > 0 && take.characters > 0 && (take.room.get(handler) ?? 1) > 0;
}

export function createTake(given: Pick<Take, "nowMs" | "worker" | "left">): Take {
  return { ...given, characters: HALF_OF_CHARACTERS, room: new Map(), claimed: [], buried: [] };
}

/** Takes jobs into a claim: those that wait, and those that it makes of new events. The verbs want a transaction of the caller's. */
export function createTaking(options: Files & { handlers: Handlers }) {
  const { db, inbox, handlers } = options;
  const findPosition = db.prepare<[], number>(`SELECT seq FROM position`).pluck();
  const move = db.prepare<[number, number]>(`UPDATE position SET seq = ?, deleted = deleted + ?`);
  const findLastSeq = inbox.prepare<[], number | null>(`SELECT max(seq) FROM events`).pluck();
  const findArrived = inbox.prepare<[number], Event>(FIND_ARRIVED);
  const findEvent = inbox.prepare<[number], Event>(`SELECT ${EVENT_COLUMNS} FROM events WHERE seq = ?`);
  const insertClaimed = db.prepare(INSERT_CLAIMED);
  const insert = db.prepare(`
    INSERT INTO jobs (job, state, key, due_at_ms, finished_at_ms, attempts, token, last_error, requeued_at_ms)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const hasUnfinished = db.prepare<[number, string], number>(HAS_UNFINISHED).pluck();
  const listOffered = db.prepare<[], Row & { job: number; handler: number }>(`
    SELECT job, handler, attempts, token, due_at_ms AS dueAtMs, last_error AS error, requeued_at_ms AS requeuedAtMs
    FROM jobs INDEXED BY jobs_waiting WHERE due_at_ms IS NOT NULL AND state = 'offered'
    ORDER BY job LIMIT ${String(LARGEST_LOOK)}`);
  const remove = db.prepare<[number]>(`DELETE FROM jobs WHERE job = ?`);
  const claimRow = db.prepare<[number, number], ClaimedRow>(`
    UPDATE jobs SET state = 'claimed', attempts = attempts + 1, token = token + 1, worker = ?, due_at_ms = NULL, deferred = 0
    WHERE job = ? AND due_at_ms IS NOT NULL RETURNING attempts, token, crashes, key, requeued_at_ms AS requeuedAtMs`);
  // Only files that come from different backups make this happen.
  const giveUp = db.prepare<[number, number]>(`
    UPDATE jobs SET state = 'dead', due_at_ms = NULL, key = NULL, finished_at_ms = ?,
      last_error = 'Its envelope is not in the inbox file.'
    WHERE job = ? AND due_at_ms IS NOT NULL`);
  // The first of each key whose jobs all wait for one that is no longer there.
  const releaseFirst = db.prepare<[number]>(`
    UPDATE jobs SET state = 'fresh', due_at_ms = 0 WHERE job IN (
      SELECT min(job) FROM jobs INDEXED BY jobs_keyed WHERE handler = ? AND key IS NOT NULL GROUP BY key HAVING min(state = 'held'))`);
  // Attempts of a handler with a rate limit, of all workers together.
  const forgetStarts = db.prepare<[number, number]>(`DELETE FROM starts WHERE handler = ? AND at_ms <= ?`);
  const addStart = db.prepare<[number, number]>(`INSERT INTO starts VALUES (?, ?)`);

  return { hasArrived, claimWaiting, splitArrived, splitOffered };

  /** Whether there are events that no worker has looked at. Only reads. */
  function hasArrived(): boolean {
    return (findLastSeq.get() ?? 0) > (findPosition.get() ?? 0);
  }

  /** Claims a job that waits. False when there was no room for it. */
  function claimWaiting(job: number, take: Take): boolean {
    const handler = handlers.find(job % HANDLERS_PER_EVENT);
    if (!handler || !hasRoom(handler, take)) return false;
    const event = eventOf(job, take);
    const row = event && claimRow.get(take.worker(), job);
    if (row) push(take, event, { job, handler, ...row });
    return true;
  }

  /** Splits the next events that nobody has looked at yet into jobs, and claims those that there is room for. */
  function splitArrived(take: Take): void {
    let last: number | undefined;
    let deleted = 0;
    if (take.left <= 0 && take.claimed.length > 0) return;
    for (const event of findArrived.iterate(findPosition.get() ?? 0)) {
      last = event.seq;
      // Pruned, and the work file was lost since: it was handled then.
      if (event.body === "") deleted += 1;
      else split(event, take, NEW);
      if (take.left <= 0 && take.claimed.length > 0) break;
      if (take.characters <= 0) break;
    }
    if (last !== undefined) move.run(last, deleted);
  }

  /** Takes up what was requeued, or stored before there were jobs. */
  function splitOffered(take: Take): void {
    for (const offered of listOffered.all()) {
      const handler = handlers.find(offered.handler);
      // Another worker's; it knows the key.
      if (offered.handler > 0 && !handler?.policy) continue;
      const event = eventOf(offered.job, take);
      if (!event) continue;
      remove.run(offered.job);
      if (handler) add(event, handler, take, offered);
      else split(event, take, offered);
    }
  }

  /** The event of a job that waits, which is dead without one. */
  function eventOf(job: number, { nowMs }: Take): Event | undefined {
    const event = findEvent.get(Math.floor(job / HANDLERS_PER_EVENT));
    if (event?.body) return event;
    giveUp.run(nowMs, job);
    releaseFirst.run(job % HANDLERS_PER_EVENT);
    return undefined;
  }

  /** Makes a job for each handler that wants the event, or the one row that says that none does. */
  function split(event: Event, take: Take, row: Row): void {
    const wanting = handlers.wanting(event.type);
    for (const handler of wanting) add(event, handler, take, row);
    if (wanting.length > 0) return;
    const job = event.seq * HANDLERS_PER_EVENT;
    insert.run(job, "ignored", null, null, take.nowMs, 0, 0, null, null);
  }

  /** Makes the job of `handler`; a new one is claimed at once where there is room, and nothing with its key is before it. */
  function add(event: Event, handler: KnownHandler, take: Take, row: Row): void {
    const job = event.seq * HANDLERS_PER_EVENT + handler.number;
    const { attempts, token, dueAtMs, error, requeuedAtMs } = row;
    const wait = (state: string, key: string | null, dueMs: number | null): void =>
      void insert.run(job, state, key, dueMs, null, attempts, token, error, requeuedAtMs);
    // Only another process has this handler, and can tell the key.
    if (!handler.policy) return wait("offered", null, dueAtMs);
    let key: string | null;
    try {
      key = handler.policy.key?.(event.body) ?? null;
    } catch (cause) {
      const why = `The handler's key failed: ${String(cause)}`;
      insert.run(job, "dead", null, null, take.nowMs, attempts, token, why, requeuedAtMs);
      take.buried.push({ handler: handler.name, id: event.id, type: event.type, error: why });
      return;
    }
    if (key !== null && hasUnfinished.get(handler.number, key) === 1) return wait("held", key, null);
    if (row !== NEW || !hasRoom(handler, take)) return wait(attempts > 0 ? "pending" : "fresh", key, dueAtMs);
    insertClaimed.run(job, key, take.worker());
    push(take, event, { job, handler, attempts: 1, token: 1, crashes: 0, key, requeuedAtMs });
  }

  function push(take: Take, event: Event, row: ClaimedRow & { job: number; handler: KnownHandler }): void {
    const { crashes, requeuedAtMs, handler, attempts, ...claimed } = row;
    const { id, type, receivedAtMs, body, trace } = event;
    take.left -= 1;
    take.characters -= body.length;
    const room = take.room.get(handler);
    if (room !== undefined) take.room.set(handler, room - 1);
    if (handler.policy?.rateLimit) {
      forgetStarts.run(handler.number, take.nowMs - handler.policy.rateLimit.perMs);
      addStart.run(handler.number, take.nowMs);
    }
    take.claimed.push({
      ...claimed,
      handler: handler.name,
      attempt: attempts,
      id,
      type,
      receivedAtMs,
      waitingSinceMs: requeuedAtMs ?? receivedAtMs,
      body,
      trace: trace === null ? null : traceSchema.parse(JSON.parse(trace)),
      suspect: crashes > 0,
    });
  }
}
