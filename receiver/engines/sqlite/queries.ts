import type { EventFilter, EventSource, EventState, InboxEvent, InboxJob, Page } from "../../engine.ts";
import { summaryOf } from "../event-state.ts";
import type { Files } from "./database.ts";
import { HANDLERS_PER_EVENT } from "./handlers.ts";
import { idOf, keyOf } from "./inbox-file.ts";

type EventRow = Pick<InboxEvent, "seq" | "duplicates" | "receivedAtMs"> & {
  key: Buffer;
  type: string;
  source: EventSource;
  handled: number | null;
  pruned: 0 | 1;
};

type JobRow = Pick<InboxJob, "attempts" | "handled" | "lastError" | "finishedAtMs"> & {
  number: number;
  name: string | null;
  state: InboxJob["state"];
  dueAtMs: number | null;
  deferred: 0 | 1;
};

const EVENT_COLUMNS = `
  seq, key, type, source, received_at_ms AS receivedAtMs, duplicates, handled, body IS NULL AS pruned`;
const FIND_SEQ = `SELECT seq FROM events WHERE key = $key UNION ALL SELECT seq FROM aliases WHERE key = $key`;
const LIST_DOWN = `SELECT ${EVENT_COLUMNS} FROM events WHERE seq < ? ORDER BY seq DESC LIMIT ?`;
const LIST_UP = `SELECT ${EVENT_COLUMNS} FROM events WHERE seq > ? ORDER BY seq LIMIT ?`;

// Dead and ignored jobs are few among many: their index goes to them at once.
const SET_ASIDE = `SELECT job FROM jobs INDEXED BY jobs_set_aside WHERE state IN ('dead', 'ignored') AND state = ?`;
const SET_ASIDE_DOWN = `${SET_ASIDE} AND job < ? ORDER BY job DESC LIMIT ?`;
const SET_ASIDE_UP = `${SET_ASIDE} AND job >= ? ORDER BY job LIMIT ?`;

/** Rows looked at in one go while a list is being filtered. */
const SCAN = 500;

/** Queries over both files. They only read, so any connection will do. */
export function createQueries({ inbox, db }: Files) {
  const findSeq = inbox.prepare<[{ key: Buffer }], number>(FIND_SEQ).pluck();
  const findEvent = inbox.prepare<[number], EventRow>(`SELECT ${EVENT_COLUMNS} FROM events WHERE seq = ?`);
  const findBody = inbox.prepare<[number], Buffer | null>(`SELECT body FROM events WHERE seq = ?`).pluck();
  const listDown = inbox.prepare<[number, number], EventRow>(LIST_DOWN);
  const listUp = inbox.prepare<[number, number], EventRow>(LIST_UP);
  const listJobs = db.prepare<[number, number], JobRow>(`
    SELECT handler AS number, name, attempts, handled, due_at_ms AS dueAtMs, deferred,
      CASE WHEN due_at_ms IS NOT NULL OR state = 'held' THEN 'pending' WHEN state = 'pruned' THEN 'done' ELSE state END AS state,
      finished_at_ms AS finishedAtMs, last_error AS lastError
    FROM jobs LEFT JOIN handlers ON handlers.number = handler WHERE job BETWEEN ? AND ? ORDER BY name`);
  const setAsideDown = db.prepare<[string, number, number], number>(SET_ASIDE_DOWN).pluck();
  const setAsideUp = db.prepare<[string, number, number], number>(SET_ASIDE_UP).pluck();

  const seqOf = (id: string): number | undefined => findSeq.get({ key: keyOf(id) });
  const body = (seq: number): Uint8Array | undefined => findBody.get(seq) ?? undefined;
  return { find, seqOf, body, list };

  function find(id: string): InboxEvent | undefined {
    const seq = seqOf(id);
    const event = seq === undefined ? undefined : findEvent.get(seq);
    return event && withJobs(event);
  }

  function withJobs(event: EventRow): InboxEvent {
    const { seq, type, source, duplicates, receivedAtMs, handled } = event;
    const known = { seq, id: idOf(event.key), type, source, duplicates, receivedAtMs };
    if (event.pruned === 1) return { ...known, ...summaryOf([]), ...PRUNED, handled: handled ?? 0, jobs: [] };
    const first = seq * HANDLERS_PER_EVENT;
    const rows = listJobs.all(first, first + HANDLERS_PER_EVENT - 1);
    const jobs = rows.map((row) => toJob(row, event));
    // An event has no jobs before a worker has looked at it.
    if (jobs.length === 0)
      return { ...known, ...summaryOf([]), state: "pending", nextAttemptAtMs: receivedAtMs, jobs };
    const isSplit = rows.some(({ number, state }) => number !== 0 || state === "done" || state === "dead");
    return { ...known, ...summaryOf(jobs), jobs: isSplit ? jobs : [] };
  }

  function list(filter: EventFilter, page: Page): InboxEvent[] {
    const found: InboxEvent[] = [];
    // As SQLite keeps text: a half of a surrogate pair is no character.
    const type = filter.type?.toWellFormed();
    const up = "afterSeq" in page;
    let from = up ? page.afterSeq : (page.beforeSeq ?? Number.MAX_SAFE_INTEGER / HANDLERS_PER_EVENT);
    for (;;) {
      const rows = scan(filter.state, from, up);
      for (const event of rows) {
        const candidate = withJobs(event);
        from = event.seq;
        if (type !== undefined && candidate.type !== type) continue;
        if (!hasState(candidate, filter)) continue;
        found.push(candidate);
        if (found.length === page.limit) return found;
      }
      if (rows.length === 0) return found;
    }
  }

  function scan(state: EventState | undefined, from: number, up: boolean): EventRow[] {
    const isSetAside = state === "dead" || state === "ignored";
    if (!isSetAside) return (up ? listUp : listDown).all(from, SCAN);
    const jobs = up
      ? setAsideUp.all(state, (from + 1) * HANDLERS_PER_EVENT, SCAN)
      : setAsideDown.all(state, from * HANDLERS_PER_EVENT, SCAN);
    const seqs = new Set(jobs.map((job) => Math.floor(job / HANDLERS_PER_EVENT)));
    return [...seqs].flatMap((seq) => findEvent.get(seq) ?? []);
  }
}

const PRUNED = { state: "pruned", type: null, source: null, duplicates: 0 } as const;

function hasState(event: InboxEvent, { state, handler }: EventFilter): boolean {
  if (handler === undefined) return state === undefined || event.state === state;
  return event.jobs.some((job) => job.handler === handler && (state === undefined || job.state === state));
}

/** A job from before handlers had names shows the event's type as its handler. */
function toJob({ number: _number, name, dueAtMs, deferred, ...row }: JobRow, event: EventRow): InboxJob {
  return {
    ...row,
    handler: name ?? event.type,
    nextAttemptAtMs: dueAtMs === null ? null : Math.max(dueAtMs, event.receivedAtMs),
    deferred: deferred === 1,
  };
}
