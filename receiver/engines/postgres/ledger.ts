import type { Counts, EventFilter, InboxEvent, Ledger } from "../../engine.ts";
import { findingsOf } from "./care.ts";
import { retryingConflicts, type Pool } from "./connection.ts";
import { createPrune } from "./retention.ts";
import { JOBS_SCHEMA } from "./schema.ts";
import { ID, milliseconds, objectKey, storable, uuidOf } from "./text.ts";
import { TASK } from "./trigger.ts";

const EVENT = `
  seq, ${ID} AS id, type, state, CASE WHEN reconciled THEN 'reconcile' ELSE 'webhook' END AS source, attempts, handled,
  duplicates, ${milliseconds("received_at")} AS "receivedAtMs", ${milliseconds("finished_at")} AS "finishedAtMs",
  CASE WHEN state = 'pending' THEN ${milliseconds("coalesce(due_at, received_at)")} END AS "nextAttemptAtMs",
  last_error AS "lastError"`;
const FIND = `SELECT ${EVENT} FROM receiver.events WHERE seq = (SELECT ids.seq FROM receiver.ids WHERE ids.id = $1)`;
const FIND_PRUNED = `SELECT seq, day::bigint * 86400000 AS "receivedAtMs", handled FROM receiver.ids WHERE id = $1`;
const FIND_BODY = `SELECT body FROM receiver.events WHERE seq = $1`;
const list = (from: string, order: string): string => `
  SELECT ${EVENT} FROM receiver.events
  WHERE ${from} AND ($2::text IS NULL OR state = $2) AND ($3::text IS NULL OR type = $3)
  ORDER BY events.seq ${order} LIMIT $4`;
const LIST_NEWEST = list("seq < coalesce($1::bigint, 9223372036854775807)", "DESC");
const LIST_OLDEST = list("seq > $1::bigint", "ASC");

const REQUEUE = `
  WITH requeued AS (
    UPDATE receiver.events SET state = 'pending', due_at = NULL, attempts = 0, crashes = 0, token = token + 1,
      finished_at = NULL, last_error = NULL
    WHERE seq = ANY (ARRAY(SELECT ids.seq FROM receiver.ids WHERE ids.id = ANY ($1::uuid[]))) AND state IN ('dead', 'ignored')
    RETURNING seq
  ), job AS (SELECT ${JOBS_SCHEMA}.add_job('${TASK}') FROM (SELECT FROM requeued LIMIT 1) AS anything)
  SELECT count(*) AS count FROM requeued LEFT JOIN job ON true`;

/** Up to here events are counted; beyond, PostgreSQL's own estimate has to do. */
const MOST_COUNTED = 100_000;
const count = (where: string): string =>
  `(SELECT count(*) FROM (SELECT FROM receiver.events WHERE ${where} LIMIT ${String(MOST_COUNTED)}) AS anything)`;
const COUNT = `
  SELECT
    ${count("state = 'pending' AND due_at IS NULL")} + ${count("state = 'pending' AND due_at IS NOT NULL AND crashes = 0")}
      + ${count("state = 'pending' AND due_at IS NOT NULL AND crashes > 0")} AS pending,
    ${count("state = 'claimed'")} AS claimed,
    ${count("state = 'ignored'")} AS ignored,
    ${count("state = 'dead'")} AS dead,
    ${count("true")} AS "all",
    (SELECT reltuples::bigint FROM pg_class WHERE oid = 'receiver.events'::regclass) AS estimate,
    ${milliseconds(`clock_timestamp() - least(
      (SELECT received_at FROM receiver.events WHERE state = 'pending' AND due_at IS NULL ORDER BY seq LIMIT 1),
      (SELECT min(received_at) FROM receiver.events WHERE state = 'pending' AND due_at IS NOT NULL),
      (SELECT min(received_at) FROM receiver.events WHERE state = 'claimed'))`)} AS "oldestUnfinishedAgeMs"`;

const FIND_KNOWN = `SELECT replace(key::text, '-', '') AS key FROM receiver.objects WHERE key = ANY ($1::uuid[])`;
const FIND_PRUNED_BEFORE = `SELECT coalesce(${milliseconds("pruned_before")}, 0) AS at FROM receiver.facts`;
const FIND_BOOKMARK = `SELECT value FROM receiver.bookmarks WHERE name = $1`;
const SET_BOOKMARK = `
  INSERT INTO receiver.bookmarks VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
const DELETE_BOOKMARK = `DELETE FROM receiver.bookmarks WHERE name = $1`;

/** What operators ask and do, on connections of its own. */
export function createLedger(pool: Pool): Ledger {
  const run = async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> =>
    retryingConflicts(async () => (await pool.query<Row>(text, values)).rows);

  return {
    find: async (id) => {
      const [event] = await run<InboxEvent>(FIND, [uuidOf(id)]);
      if (event) return event;
      const [pruned] = await run<PrunedRow>(FIND_PRUNED, [uuidOf(id)]);
      return pruned && prunedEvent(id, pruned);
    },
    body: async (seq) => (await run<{ body: Buffer }>(FIND_BODY, [seq]))[0]?.body,
    list: async ({ state, type }: EventFilter, page) => {
      const filter = [state, type === undefined ? undefined : storable(type), page.limit];
      return "afterSeq" in page
        ? run<InboxEvent>(LIST_OLDEST, [page.afterSeq, ...filter])
        : run<InboxEvent>(LIST_NEWEST, [page.beforeSeq, ...filter]);
    },
    requeue: async (ids) => (await run<{ count: number }>(REQUEUE, [ids.map(uuidOf)]))[0]?.count ?? 0,
    prune: createPrune(run),
    counts: async () => {
      const [row] = await run<CountsRow>(COUNT);
      if (!row) throw new Error("PostgreSQL counted nothing.");
      return countsOf(row);
    },
    known: async (type, objectIds) => {
      const byKey = new Map(objectIds.map((objectId) => [objectKey(type, objectId), objectId]));
      const rows = await run<{ key: string }>(FIND_KNOWN, [[...byKey.keys()]]);
      return new Set(rows.flatMap(({ key }) => byKey.get(key) ?? []));
    },
    prunedBeforeMs: async () => (await run<{ at: number }>(FIND_PRUNED_BEFORE))[0]?.at ?? 0,
    bookmark: async (name) => (await run<{ value: string }>(FIND_BOOKMARK, [name]))[0]?.value,
    setBookmark: async (name, value) => {
      await (value === undefined ? run(DELETE_BOOKMARK, [name]) : run(SET_BOOKMARK, [name, value]));
    },
    check: async () => findingsOf(run),
  };
}

/** Runs one statement and answers its rows. */
export type Run = <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>;

type PrunedRow = { seq: number; receivedAtMs: number; handled: number };

function prunedEvent(id: string, row: PrunedRow): InboxEvent {
  return {
    ...row,
    id: `evt_${uuidOf(id)}`,
    type: null,
    state: "pruned",
    source: null,
    attempts: 0,
    duplicates: 0,
    finishedAtMs: null,
    nextAttemptAtMs: null,
    lastError: null,
  };
}

type CountsRow = Omit<Counts["byState"], "done"> & {
  all: number;
  estimate: number;
  oldestUnfinishedAgeMs: number | null;
};

function countsOf({ all, estimate, oldestUnfinishedAgeMs, ...counted }: CountsRow): Counts {
  const total = all < MOST_COUNTED ? all : Math.max(all, estimate);
  const unfinishedAndSetAside = counted.pending + counted.claimed + counted.ignored + counted.dead;
  return {
    byState: { ...counted, done: Math.max(0, total - unfinishedAndSetAside) },
    oldestUnfinishedAgeMs,
  };
}
