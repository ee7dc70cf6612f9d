import { setImmediate as nextTurn } from "node:timers/promises";
import type Database from "better-sqlite3";
import { summaryOf } from "./event-summary.ts";
import { jobErrorsSchema } from "./failures.ts";
import type { EventFilter, InboxEvent, InboxJob, Ledger, Page } from "./port.ts";
import { bytesOfId, HELD, idOfBytes } from "./schema.ts";

const COLUMNS = `
  seq, id, type, object_id AS objectId, source, received_at_ms AS receivedAtMs, duplicates, handled, body IS NULL AS isPruned`;
const FIND = `SELECT ${COLUMNS} FROM events WHERE id = $id UNION ALL SELECT ${COLUMNS} FROM events WHERE alias = $id`;
const FIND_BODY = `SELECT body FROM events WHERE seq = ?`;
const LIST_JOBS = `
  SELECT name AS handler, state, attempts, handled, due_at_ms AS dueAtMs, deferred, finished_at_ms AS finishedAtMs, errors, cause
  FROM jobs JOIN handlers ON number = handler WHERE event = ? ORDER BY name`;

/** Seqs that are looked at in one turn of the event loop. */
const SCAN = 2_000;

const MATCHES = `
  ($type IS NULL OR type = $type) AND ($isPruned = 0 OR body IS NULL) AND ($ofJob = 0 OR EXISTS (
    SELECT 1 FROM jobs JOIN handlers ON number = handler WHERE event = seq AND ($state IS NULL OR state = $state)
      AND ($handler IS NULL OR name = $handler) AND ($cause IS NULL OR cause = $cause)))`;

/** In each direction: the nearest seq that may match, by what the filter asks for, and what matches of those beside it. */
const DOWN = {
  anyEvent: `SELECT max(seq) FROM events WHERE seq < $from`,
  setAside: `SELECT max(event) FROM jobs WHERE state IN ('dead', 'ignored') AND state = $state AND event < $from`,
  running: runningBeside("max(event)", "event < $from"),
  slice: `SELECT ${COLUMNS} FROM events WHERE seq BETWEEN $next - ${String(SCAN)} AND $next AND ${MATCHES} ORDER BY seq DESC LIMIT $limit`,
};
const UP = {
  anyEvent: `SELECT min(seq) FROM events WHERE seq > $from`,
  setAside: `SELECT min(event) FROM jobs WHERE state IN ('dead', 'ignored') AND state = $state AND event > $from`,
  running: runningBeside("min(event)", "event > $from"),
  slice: `SELECT ${COLUMNS} FROM events WHERE seq BETWEEN $next AND $next + ${String(SCAN)} AND ${MATCHES} ORDER BY seq LIMIT $limit`,
};

type EventRow = Pick<InboxEvent, "seq" | "type" | "objectId" | "source" | "duplicates" | "receivedAtMs"> & {
  id: Buffer;
  handled: number | null;
  isPruned: 0 | 1;
};
type JobRow = Pick<InboxJob, "handler" | "state" | "attempts" | "handled" | "finishedAtMs"> & {
  dueAtMs: number;
  deferred: 0 | 1;
  errors: string | null;
  cause: string | null;
};

/** Events as operators see them. */
export function createViews(db: Database.Database): Pick<Ledger, "find" | "body" | "list"> {
  const findEvent = db.prepare<[{ id: Buffer }], EventRow>(FIND);
  const findBody = db.prepare<[number], Buffer | null>(FIND_BODY).pluck();
  const listJobs = db.prepare<[number], JobRow>(LIST_JOBS);
  const [down, up] = [prepared(DOWN), prepared(UP)];

  return {
    find: async (id) => {
      const event = findEvent.get({ id: bytesOfId(id) });
      return event && withJobs(event);
    },
    body: async (seq) => findBody.get(seq) ?? undefined,
    list,
  };

  function prepared(direction: typeof DOWN) {
    const seq = (sql: string) => db.prepare<[Record<string, unknown>], number | null>(sql).pluck();
    const { slice, ...nearest } = direction;
    return {
      slice: db.prepare<[Record<string, unknown>], EventRow>(slice),
      anyEvent: seq(nearest.anyEvent),
      setAside: seq(nearest.setAside),
      running: seq(nearest.running),
    };
  }

  async function list(filter: EventFilter, page: Page): Promise<InboxEvent[]> {
    const isUp = "afterSeq" in page;
    const statements = isUp ? up : down;
    const values = valuesOf(filter);
    const nearest =
      filter.state === "dead" || filter.state === "ignored"
        ? statements.setAside
        : statements[filter.state === "running" ? "running" : "anyEvent"];
    const found: InboxEvent[] = [];
    let from = isUp ? page.afterSeq : (page.beforeSeq ?? Number.MAX_SAFE_INTEGER);
    for (;;) {
      const next = nearest.get({ from, state: values.state });
      if (typeof next !== "number") return found;
      const limit = page.limit - found.length;
      found.push(...statements.slice.all({ ...values, next, limit }).map(withJobs));
      if (found.length >= page.limit) return found;
      from = isUp ? next + SCAN : next - SCAN;
      await nextTurn();
    }
  }

  function withJobs({ id, isPruned, handled, ...event }: EventRow): InboxEvent {
    const jobs = listJobs.all(event.seq).map(toJob);
    const summary = summaryOf(jobs);
    if (isPruned === 1)
      return { ...event, id: idOfBytes(id), ...summary, state: "pruned", handled: handled ?? 0, jobs };
    return { ...event, id: idOfBytes(id), ...summary, jobs: jobs.filter(({ handler }) => handler !== "") };
  }
}

/** The lock-step of handlers and the index finds the few running jobs among many that wait. */
function runningBeside(seq: string, condition: string): string {
  return `
    SELECT ${seq} FROM handlers CROSS JOIN jobs INDEXED BY jobs_unfinished ON handler = number
    WHERE state IN ('waiting', 'running') AND state = 'running' AND $state = 'running' AND ${condition}`;
}

function valuesOf({ state, type, handler, cause }: EventFilter) {
  const ofJob = state === "pruned" ? undefined : state;
  return {
    // As SQLite keeps text: half of a surrogate pair is no character.
    type: type?.toWellFormed() ?? null,
    isPruned: state === "pruned" ? 1 : 0,
    ofJob: ofJob === undefined && handler === undefined && cause === undefined ? 0 : 1,
    state: ofJob ?? null,
    handler: handler ?? null,
    cause: cause ?? null,
  };
}

function toJob({ dueAtMs, deferred, errors: text, cause, ...row }: JobRow): InboxJob {
  const errors = text === null ? [] : jobErrorsSchema.parse(JSON.parse(text));
  const isWaiting = row.state === "waiting";
  const held = isWaiting && dueAtMs === HELD;
  return {
    ...row,
    held,
    deferred: isWaiting && deferred === 1,
    nextAttemptAtMs: isWaiting && !held ? dueAtMs : null,
    lastError: row.state === "ignored" ? cause : (errors[0]?.error ?? null),
    errors,
  };
}
