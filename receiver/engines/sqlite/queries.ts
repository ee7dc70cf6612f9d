import type Database from "better-sqlite3";
import type { Counts, EventFilter, EventSource, EventState, InboxEvent } from "../../engine.ts";
import { idKey } from "./inbox-file.ts";

type EventRow = {
  seq: number;
  id: string;
  type: string;
  source: EventSource;
  received_at_ms: number;
  duplicates: number;
};

type WorkRow = {
  seq: number;
  state: Exclude<EventState, "pruned">;
  attempts: number;
  handled: number;
  due_at_ms: number;
  finished_at_ms: number | null;
  last_error: string | null;
};

const EVENT_COLUMNS = `seq, id, type, source, received_at_ms, duplicates`;
const FIND_ID = `SELECT seq, day, handled FROM ids WHERE key = ?`;
const FIND_EVENT = `SELECT ${EVENT_COLUMNS} FROM events WHERE seq = ?`;
const FIND_BODY = `SELECT body FROM events WHERE seq = ?`;
const FIND_WORK = `SELECT seq, state, attempts, handled, due_at_ms, finished_at_ms, last_error FROM work WHERE seq = ?`;
const FIND_POSITION = `SELECT seq FROM position`;
const LIST_EVENTS = `SELECT ${EVENT_COLUMNS} FROM events WHERE seq < ? AND seq > ? ORDER BY seq DESC LIMIT ?`;
const LIST_STATE = `SELECT seq FROM work WHERE state = ? AND seq < ? ORDER BY seq DESC LIMIT ?`;
const FIND_TALLIES = `SELECT state, events FROM tallies`;
const COUNT_ARRIVED = `SELECT count(*) AS events FROM events WHERE seq > ?`;
const FIND_OLDEST_UNFINISHED = `SELECT min(seq) AS seq FROM work INDEXED BY work_unfinished WHERE state IN ('pending', 'claimed')`;
const FIND_OLDEST_ARRIVED = `SELECT min(seq) AS seq FROM events WHERE seq > ?`;
const FIND_KNOWN = `SELECT 1 FROM events WHERE object_id = ? AND type = ? LIMIT 1`;

/** Rows looked at in one go while a list is being filtered. */
const SCAN = 500;
const DAY_MS = 86_400_000;

/** What can be asked of the two files together. Reads only. */
export function createQueries({ inbox, db }: { inbox: Database.Database; db: Database.Database }) {
  const findId = inbox.prepare<[Buffer], { seq: number; day: number; handled: number }>(FIND_ID);
  const findEvent = inbox.prepare<[number], EventRow>(FIND_EVENT);
  const findBody = inbox.prepare<[number], { body: Buffer }>(FIND_BODY);
  const findWork = db.prepare<[number], WorkRow>(FIND_WORK);
  const findPosition = db.prepare<[], { seq: number }>(FIND_POSITION);
  const listEvents = inbox.prepare<[number, number, number], EventRow>(LIST_EVENTS);
  const listState = db.prepare<[string, number, number], { seq: number }>(LIST_STATE);
  const findTallies = db.prepare<[], { state: WorkRow["state"]; events: number }>(FIND_TALLIES);
  const countArrived = inbox.prepare<[number], { events: number }>(COUNT_ARRIVED);
  const findOldestUnfinished = db.prepare<[], { seq: number | null }>(FIND_OLDEST_UNFINISHED);
  const findOldestArrived = inbox.prepare<[number], { seq: number | null }>(FIND_OLDEST_ARRIVED);
  const findKnown = inbox.prepare<[string, string]>(FIND_KNOWN);

  return { seqOf, find, body, list, counts, known };

  function seqOf(id: string): number | undefined {
    return findId.get(idKey(id))?.seq;
  }

  function find(id: string): InboxEvent | undefined {
    const known = findId.get(idKey(id));
    if (!known) return undefined;
    const event = findEvent.get(known.seq);
    return event ? withWork(event) : pruned(id, known);
  }

  function withWork(event: EventRow): InboxEvent {
    // An event without a row in the work file has just arrived: the worker hasn't looked yet.
    const work = findWork.get(event.seq);
    const state = work?.state ?? "pending";
    return {
      seq: event.seq,
      id: event.id,
      type: event.type,
      state,
      source: event.source,
      attempts: work?.attempts ?? 0,
      handled: work?.handled ?? 0,
      duplicates: event.duplicates,
      receivedAtMs: event.received_at_ms,
      finishedAtMs: work?.finished_at_ms ?? null,
      nextAttemptAtMs: state === "pending" ? Math.max(work?.due_at_ms ?? 0, event.received_at_ms) : null,
      lastError: work?.last_error ?? null,
    };
  }

  function body(seq: number): Uint8Array | undefined {
    return findBody.get(seq)?.body;
  }

  function list(
    filter: EventFilter,
    { limit, beforeSeq }: { limit: number; beforeSeq?: number },
  ): InboxEvent[] {
    const found: InboxEvent[] = [];
    let below = beforeSeq ?? Number.MAX_SAFE_INTEGER;
    for (;;) {
      const page = rows(filter.state, below);
      for (const event of page) {
        const candidate = withWork(event);
        below = event.seq;
        if (filter.type !== undefined && candidate.type !== filter.type) continue;
        if (filter.state !== undefined && candidate.state !== filter.state) continue;
        found.push(candidate);
        if (found.length === limit) return found;
      }
      if (page.length === 0) return found;
    }
  }

  /** The next events below `below`, all of them or those of one state, which the work file knows. */
  function rows(state: EventState | undefined, below: number): EventRow[] {
    if (state === undefined) return listEvents.all(below, 0, SCAN);
    const arrived = state === "pending" ? listEvents.all(below, findPosition.get()?.seq ?? 0, SCAN) : [];
    if (arrived.length > 0) return arrived;
    return listState.all(state, below, SCAN).flatMap(({ seq }) => findEvent.get(seq) ?? []);
  }

  function counts(): Counts {
    const byState = { pending: 0, claimed: 0, done: 0, ignored: 0, dead: 0 };
    for (const { state, events } of findTallies.all()) byState[state] = events;
    const position = findPosition.get()?.seq ?? 0;
    byState.pending += countArrived.get(position)?.events ?? 0;
    const oldestSeq = findOldestUnfinished.get()?.seq ?? findOldestArrived.get(position)?.seq;
    const oldest = typeof oldestSeq === "number" ? findEvent.get(oldestSeq) : undefined;
    return { byState, oldestUnfinishedAtMs: oldest?.received_at_ms ?? null };
  }

  function known(type: string, objectIds: readonly string[]): Set<string> {
    return new Set(objectIds.filter((objectId) => findKnown.get(objectId, type) !== undefined));
  }
}

function pruned(id: string, known: { seq: number; day: number; handled: number }): InboxEvent {
  return {
    seq: known.seq,
    id,
    type: null,
    state: "pruned",
    source: null,
    attempts: 0,
    handled: known.handled,
    duplicates: 0,
    receivedAtMs: known.day * DAY_MS,
    finishedAtMs: null,
    nextAttemptAtMs: null,
    lastError: null,
  };
}
