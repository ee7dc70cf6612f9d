import type Database from "better-sqlite3";
import type { Counts, EventFilter, EventSource, EventState, InboxEvent, Page } from "../../engine.ts";
import { idOf, keyOf } from "./inbox-file.ts";

type EventRow = {
  seq: number;
  key: Buffer;
  type: string;
  source: EventSource;
  received_at_ms: number;
  duplicates: number;
  handled: number | null;
  pruned: number;
};

type WorkRow = {
  state: EventState;
  attempts: number;
  handled: number;
  due_at_ms: number | null;
  finished_at_ms: number | null;
  last_error: string | null;
};

const EVENT_COLUMNS = `seq, key, type, source, received_at_ms, duplicates, handled, body IS NULL AS pruned`;
const FIND_EVENT_BY_KEY = `SELECT ${EVENT_COLUMNS} FROM events WHERE key = ?`;
const FIND_EVENT = `SELECT ${EVENT_COLUMNS} FROM events WHERE seq = ?`;
const FIND_ALIAS = `SELECT seq FROM aliases WHERE key = ?`;
const FIND_BODY = `SELECT body FROM events WHERE seq = ?`;
const FIND_LAST_SEQ = `SELECT coalesce(max(seq), 0) FROM events`;
const LIST_DOWN = `SELECT ${EVENT_COLUMNS} FROM events WHERE seq < ? ORDER BY seq DESC LIMIT ?`;
const LIST_UP = `SELECT ${EVENT_COLUMNS} FROM events WHERE seq > ? ORDER BY seq LIMIT ?`;

const FIND_WORK = `SELECT state, attempts, handled, due_at_ms, finished_at_ms, last_error FROM work WHERE seq = ?`;
const FIND_POSITION = `SELECT seq, deleted FROM position`;
// Dead and ignored events are few among many: their index goes to them at once.
const SET_ASIDE_DOWN = `SELECT seq FROM work INDEXED BY work_set_aside WHERE state IN ('dead', 'ignored') AND state = ? AND seq < ? ORDER BY seq DESC LIMIT ?`;
const SET_ASIDE_UP = `SELECT seq FROM work INDEXED BY work_set_aside WHERE state IN ('dead', 'ignored') AND state = ? AND seq > ? ORDER BY seq LIMIT ?`;
const COUNT = {
  pending: `SELECT count(*) FROM work INDEXED BY work_due WHERE state = 'pending'`,
  claimed: `SELECT count(*) FROM work INDEXED BY work_claimed WHERE state = 'claimed'`,
  dead: `SELECT count(*) FROM work INDEXED BY work_set_aside WHERE state IN ('dead', 'ignored') AND state = 'dead'`,
  ignored: `SELECT count(*) FROM work INDEXED BY work_set_aside WHERE state IN ('dead', 'ignored') AND state = 'ignored'`,
};
const FIND_OLDEST_UNFINISHED = `
  SELECT min(seq) FROM (
    SELECT min(seq) AS seq FROM work INDEXED BY work_due WHERE state = 'pending'
    UNION ALL SELECT min(seq) FROM work INDEXED BY work_claimed WHERE state = 'claimed')`;
const FIND_NEXT = `SELECT min(seq) FROM events WHERE seq > ?`;

/** Rows looked at in one go while a list is being filtered. */
const SCAN = 500;

/** What can be asked of the two files together. Reads only, through connections of any kind. */
export function createQueries({ inbox, db }: { inbox: Database.Database; db: Database.Database }) {
  const findEventByKey = inbox.prepare<[Buffer], EventRow>(FIND_EVENT_BY_KEY);
  const findEvent = inbox.prepare<[number], EventRow>(FIND_EVENT);
  const findAlias = inbox.prepare<[Buffer], number>(FIND_ALIAS).pluck();
  const findBody = inbox.prepare<[number], Buffer | null>(FIND_BODY).pluck();
  const findLastSeq = inbox.prepare<[], number>(FIND_LAST_SEQ).pluck();
  const listDown = inbox.prepare<[number, number], EventRow>(LIST_DOWN);
  const listUp = inbox.prepare<[number, number], EventRow>(LIST_UP);
  const findNext = inbox.prepare<[number], number | null>(FIND_NEXT).pluck();
  const findWork = db.prepare<[number], WorkRow>(FIND_WORK);
  const findPosition = db.prepare<[], { seq: number; deleted: number }>(FIND_POSITION);
  const setAsideDown = db.prepare<[string, number, number], number>(SET_ASIDE_DOWN).pluck();
  const setAsideUp = db.prepare<[string, number, number], number>(SET_ASIDE_UP).pluck();
  const findOldestUnfinished = db.prepare<[], number | null>(FIND_OLDEST_UNFINISHED).pluck();
  const count = {
    pending: db.prepare<[], number>(COUNT.pending).pluck(),
    claimed: db.prepare<[], number>(COUNT.claimed).pluck(),
    dead: db.prepare<[], number>(COUNT.dead).pluck(),
    ignored: db.prepare<[], number>(COUNT.ignored).pluck(),
  };

  return { find, seqOf, body, list, counts };

  function find(id: string): InboxEvent | undefined {
    const seq = seqOf(id);
    const event = seq === undefined ? undefined : findEvent.get(seq);
    return event && withWork(event);
  }

  function seqOf(id: string): number | undefined {
    const key = keyOf(id);
    return findEventByKey.get(key)?.seq ?? findAlias.get(key);
  }

  function body(seq: number): Uint8Array | undefined {
    return findBody.get(seq) ?? undefined;
  }

  function withWork(event: EventRow): InboxEvent {
    if (event.pruned === 1) return pruned(event);
    // An event without a row in the work file has just arrived: no worker has claimed it yet.
    const work = findWork.get(event.seq);
    const state = work?.state ?? "pending";
    return {
      seq: event.seq,
      id: idOf(event.key),
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

  function list(filter: EventFilter, page: Page): InboxEvent[] {
    const found: InboxEvent[] = [];
    // As SQLite keeps text: a half of a surrogate pair is no character.
    const type = filter.type?.toWellFormed();
    const up = "afterSeq" in page;
    let from = up ? page.afterSeq : (page.beforeSeq ?? Number.MAX_SAFE_INTEGER);
    for (;;) {
      const rows = scan(filter.state, from, up);
      for (const event of rows) {
        const candidate = withWork(event);
        from = event.seq;
        if (type !== undefined && candidate.type !== type) continue;
        if (filter.state !== undefined && candidate.state !== filter.state) continue;
        found.push(candidate);
        if (found.length === page.limit) return found;
      }
      if (rows.length === 0) return found;
    }
  }

  function scan(state: EventState | undefined, from: number, up: boolean): EventRow[] {
    const isSetAside = state === "dead" || state === "ignored";
    if (isSetAside) return eventsOf((up ? setAsideUp : setAsideDown).all(state, from, SCAN));
    return (up ? listUp : listDown).all(from, SCAN);
  }

  function eventsOf(seqs: readonly number[]): EventRow[] {
    return seqs.flatMap((seq) => findEvent.get(seq) ?? []);
  }

  function counts(nowMs: number): Counts {
    const position = findPosition.get() ?? { seq: 0, deleted: 0 };
    // No seq is left out, so what lies beyond the position need not be counted.
    const arrived = Math.max(0, (findLastSeq.get() ?? 0) - position.seq);
    const retries = count.pending.get() ?? 0;
    const claimed = count.claimed.get() ?? 0;
    const dead = count.dead.get() ?? 0;
    const ignored = count.ignored.get() ?? 0;
    const done = Math.max(0, position.seq - position.deleted - retries - claimed - dead - ignored);
    const oldestSeq = findOldestUnfinished.get() ?? findNext.get(position.seq);
    const oldest = typeof oldestSeq === "number" ? findEvent.get(oldestSeq) : undefined;
    return {
      byState: { pending: retries + arrived, claimed, done, ignored, dead },
      oldestUnfinishedAgeMs: oldest ? Math.max(0, nowMs - oldest.received_at_ms) : null,
    };
  }
}

function pruned(event: EventRow): InboxEvent {
  return {
    seq: event.seq,
    id: idOf(event.key),
    type: null,
    state: "pruned",
    source: null,
    attempts: 0,
    handled: event.handled ?? 0,
    duplicates: 0,
    receivedAtMs: event.received_at_ms,
    finishedAtMs: null,
    nextAttemptAtMs: null,
    lastError: null,
  };
}
