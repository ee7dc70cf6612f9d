import type { Counts, EventFilter, EventState, InboxEvent, Ledger } from "../../engine.ts";
import { namedError } from "../../named-error.ts";
import { summaryOf } from "../event-state.ts";
import { KEYED, SUSPECT, type Boss } from "./boss.ts";
import { refusalOf, type Database, type Query } from "./connection.ts";
import { makeJobs } from "./offers.ts";
import { createPrune } from "./retention.ts";
import { eventSeq, ID, JOB_STATE, jobId, objectKey, storable, unixMs, uuidOf, WITH_JOBS } from "./text.ts";

export const EVENT = `
  SELECT seq, ${ID} AS id, type, work.state, CASE WHEN reconciled THEN 'reconcile' ELSE 'webhook' END AS source, duplicates,
    ${unixMs("received_at")} AS "receivedAtMs", ${unixMs("coalesce(due_at, received_at)")} AS "dueAtMs",
    CASE WHEN offer = 'unwanted' THEN ${unixMs("coalesce(finished_at, received_at)")} END AS "unwantedAtMs",
    coalesce(jobs, CASE WHEN events.state IS NOT NULL THEN json_build_array(json_build_object(
      'handler', type, 'state', events.state, 'attempts', attempts, 'handled', handled, 'lastError', last_error,
      'nextAttemptAtMs', NULL, 'deferred', false, 'finishedAtMs', ${unixMs("finished_at")})) END, '[]') AS jobs
  FROM ${WITH_JOBS}`;
const FIND = `${EVENT} WHERE seq = (SELECT ids.seq FROM receiver.ids WHERE ids.id = $1)`;
const FIND_PRUNED = `
  SELECT seq, 'evt_' || replace(id::text, '-', '') AS id, 'pruned' AS state, handled, day::bigint * 86400000 AS "receivedAtMs",
    NULL AS type, NULL AS source, 0 AS duplicates, '[]'::json AS jobs FROM receiver.ids WHERE id = $1`;
const FIND_BODY = `SELECT body FROM receiver.events WHERE seq = $1`;

/** Where the events of a state are found without reading all events. */
const jobsIn = (states: string): string => `SELECT ${eventSeq("id")} FROM boss.job WHERE ${states}`;
const CANDIDATES: Record<string, string> = {
  pending: `${jobsIn("state < 'active' AND NOT blocked")} UNION ALL SELECT seq FROM receiver.events WHERE offer = 'waiting'`,
  claimed: jobsIn("state = 'active'"),
  dead: `${jobsIn("state = 'failed'")} UNION ALL SELECT seq FROM receiver.events WHERE state = 'dead'`,
  ignored: `${jobsIn("state = 'cancelled'")} UNION ALL SELECT seq FROM receiver.events WHERE offer = 'unwanted'`,
};

const CHOSEN = `
  chosen AS MATERIALIZED (
    SELECT seq, type, received_at, offer, state, 0 AS attempts, NULL::timestamptz AS due_at, NULL::text AS last_error
    FROM receiver.events WHERE seq = ANY (ARRAY(SELECT ids.seq FROM receiver.ids WHERE ids.id = ANY ($1::uuid[])))
    ORDER BY seq FOR UPDATE
  ), told AS MATERIALIZED (SELECT pg_notify($3, '') WHERE $3 IS NOT NULL)`;
const SINCE_NOW = `jsonb_build_object('requeuedAtMs', ${unixMs("clock_timestamp()")})`;
const JOBS_AGAIN = `
  UPDATE boss.job SET state = 'created', priority = 0, retry_count = 0, started_on = NULL, start_after = now(),
    completed_on = NULL, output = NULL, policy = NULL, data = ${SINCE_NOW}
  FROM chosen, receiver.handlers
  WHERE job.name = handlers.name AND job.id = ${jobId("chosen.seq")} AND job.state IN ('failed', 'cancelled')
    AND ($2::text IS NULL OR handlers.name = $2)
  RETURNING job.id`;
const REQUEUE = `
  WITH ${CHOSEN}, again AS (${JOBS_AGAIN}),
  made AS (${makeJobs("chosen", { where: "handlers.name = $2", data: SINCE_NOW })}),
  offered AS (
    UPDATE receiver.events SET offer = CASE WHEN $2::text IS NULL THEN 'waiting' ELSE 'offered' END,
      state = NULL, attempts = 0, due_at = NULL, last_error = NULL
    FROM chosen WHERE events.seq = chosen.seq AND (chosen.offer = 'unwanted' OR chosen.state = 'dead')
      AND ($2::text IS NULL OR ${jobId("chosen.seq")} IN (SELECT id FROM made))
    RETURNING ${jobId("events.seq")} AS id)
  SELECT count(*) AS count FROM (SELECT id FROM again UNION SELECT id FROM made UNION SELECT id FROM offered) AS changed LEFT JOIN told ON true`;

/** The states of pg-boss's jobs that are not done: each has an index. */
const UNDONE = ["< 'active' AND NOT blocked", "= 'active'", "= 'failed'", "= 'cancelled'"];
/** Up to here jobs and events are counted; beyond, PostgreSQL's own estimates have to do. */
const MOST_COUNTED = 10_000;
const some = (text: string): string => `(${text} LIMIT ${String(MOST_COUNTED)})`;
const ASIDE = `
  aside AS MATERIALIZED (SELECT name, id, ${JOB_STATE} AS state FROM (
    ${UNDONE.map((state) => some(`SELECT name, id, state FROM boss.job WHERE state ${state}`)).join(" UNION ALL ")}) AS job
  ), events AS (
    SELECT CASE WHEN bool_or(state = 'claimed') THEN 'claimed' WHEN bool_or(state = 'pending') THEN 'pending'
      WHEN bool_or(state = 'dead') THEN 'dead' WHEN EXISTS (SELECT FROM boss.job WHERE job.id = aside.id
        AND name = ANY (ARRAY(SELECT name FROM receiver.handlers)) AND job.state = 'completed') THEN 'done'
      ELSE 'ignored' END AS state FROM aside GROUP BY aside.id
    UNION ALL
    ${some("SELECT CASE WHEN offer = 'unwanted' THEN 'ignored' ELSE 'pending' END FROM receiver.events WHERE offer <> 'offered'")}
    UNION ALL ${some("SELECT 'dead' FROM receiver.events WHERE state = 'dead'")})`;
const OLDEST = `
  SELECT min(at) FROM (
    SELECT (SELECT created_on FROM boss.job WHERE job.name = handlers.name AND job.priority = kind AND state < 'active'
      AND NOT blocked ORDER BY created_on LIMIT 1) AS at FROM receiver.handlers, generate_series(0, ${String(KEYED + SUSPECT)}) AS kind
    UNION ALL SELECT min(created_on) FROM boss.job WHERE state = 'active'
    UNION ALL (SELECT received_at FROM receiver.events WHERE offer = 'waiting' ORDER BY seq LIMIT 1)) AS oldest`;
const COUNT = `
  WITH ${ASIDE}
  SELECT (SELECT json_object_agg(state, count) FROM (SELECT state, count(*) FROM events GROUP BY state) AS states) AS "byState",
    (SELECT json_agg(counted) FROM (SELECT name AS handler,
      count(*) FILTER (WHERE state = 'pending') AS pending, count(*) FILTER (WHERE state = 'claimed') AS claimed,
      count(*) FILTER (WHERE state = 'dead') AS dead, count(*) FILTER (WHERE state = 'ignored') AS ignored
      FROM receiver.handlers LEFT JOIN aside USING (name) GROUP BY name ORDER BY name) AS counted) AS "byHandler",
    (SELECT count(*) FROM ${some("SELECT FROM receiver.events")} AS anything) AS "all",
    (SELECT reltuples::bigint FROM pg_class WHERE oid = 'receiver.events'::regclass) AS estimate,
    ${unixMs(`clock_timestamp() - (${OLDEST})`)} AS "oldestUnfinishedAgeMs"`;

const FIND_HANDLERS = `
  SELECT name, coalesce(to_json(types), '"*"') AS types FROM receiver.handlers WHERE current ORDER BY name`;
const FIND_KNOWN = `SELECT replace(key::text, '-', '') AS key FROM receiver.objects WHERE key = ANY ($1::uuid[])`;
const FIND_PRUNED_BEFORE = `SELECT coalesce(${unixMs("pruned_before")}, 0) AS at FROM receiver.facts`;
const FIND_BOOKMARK = `SELECT value FROM receiver.bookmarks WHERE name = $1`;
const SET_BOOKMARK = `
  INSERT INTO receiver.bookmarks VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
const DELETE_BOOKMARK = `DELETE FROM receiver.bookmarks WHERE name = $1`;

/**
 * What of this server's settings and past weakens a promise: one line each, with what to do. Of a standby only that it is
 * one: it can't answer the rest.
 */
const FIND_WEAKNESSES = `
  WITH server AS MATERIALIZED (SELECT pg_is_in_recovery() AS standby),
  place AS MATERIALIZED (
    SELECT timeline AS former, CASE WHEN NOT standby THEN substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END AS now
    FROM server, receiver.facts),
  orphans AS MATERIALIZED (
    SELECT count(*) AS count FROM (
      SELECT FROM (SELECT id FROM receiver.events ORDER BY seq DESC LIMIT 10000) AS events
      WHERE NOT EXISTS (SELECT FROM receiver.ids WHERE ids.id = events.id) LIMIT 1000) AS lost)
  SELECT 'This server is a standby and takes no events: let DATABASE_URL name the primary.' AS finding FROM server WHERE standby
  UNION ALL SELECT finding FROM server, place, orphans, LATERAL (VALUES
    (current_setting('fsync') = 'off',
      'fsync is off: a power cut loses acknowledged events, or the database. Turn it on.'),
    (current_setting('full_page_writes') = 'off',
      'full_page_writes is off: a power cut may tear pages. Turn it on.'),
    (current_setting('synchronous_commit') = 'off',
      'Somebody has turned synchronous_commit off. Events are committed synchronously all the same, handlers'' writes are not: turn it on, or a crash undoes the last of them and their events are handled again.'),
    (current_setting('synchronous_standby_names') = '' AND EXISTS (SELECT FROM pg_stat_replication),
      'The standbys replicate asynchronously: when one is promoted, events acknowledged just before are lost. Set synchronous_standby_names.'),
    (former <> now,
      format('A standby was promoted since this inbox was made (timeline %s, now %s). Unless it replicated synchronously, run reconcile for what it may lack; then UPDATE receiver.facts SET timeline = %L.', former, now, now)),
    (orphans.count > 0,
      format('%s events have lost their id, which makes their duplicates new: restore a backup.', orphans.count))
  ) AS weaknesses(applies, finding) WHERE applies AND NOT standby`;

/** What operators ask and do, on connections of its own; `LedgerFailed` where the server refuses it, or is lost meanwhile. */
export function createLedger(database: Database, boss: Boss, channel: string | null): Ledger {
  const run: Query = async <Row extends object>(text: string, values?: unknown[]) =>
    database.run<Row>(text, values).catch((error: unknown) => {
      throw namedError("LedgerFailed", refusalOf(error, true).detail);
    });
  return {
    find: async (id) => {
      const [event] = await run<EventRow>(FIND, [uuidOf(id)]);
      if (event) return eventOf(event);
      const [pruned] = await run<PrunedRow>(FIND_PRUNED, [uuidOf(id)]);
      return pruned && { ...summaryOf([]), ...pruned };
    },
    body: async (seq) => (await run<{ body: Buffer }>(FIND_BODY, [seq]))[0]?.body,
    list: async (filter, page) => {
      const isForward = "afterSeq" in page;
      const values: unknown[] = [isForward ? page.afterSeq : page.beforeSeq, page.limit];
      const where = conditionsOf(filter, (value) => `$${String(values.push(value))}`);
      const rows = await run<EventRow>(
        `${EVENT} WHERE ${isForward ? "seq > $1" : "seq < coalesce($1::bigint, 9223372036854775807)"} ${where}
          ORDER BY seq ${isForward ? "ASC" : "DESC"} LIMIT $2`,
        values,
      );
      return rows.map(eventOf);
    },
    requeue: async (ids, handler) =>
      (await run<{ count: number }>(REQUEUE, [ids.map(uuidOf), handler, channel]))[0]?.count ?? 0,
    handlers: async () => run(FIND_HANDLERS),
    prune: createPrune({ ...database, run }, boss),
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
    check: async () => (await run<{ finding: string }>(FIND_WEAKNESSES)).map(({ finding }) => finding),
  };
}

/** The conditions of a list's statement; `give` hands it a value and answers its placeholder. */
function conditionsOf({ state, type, handler }: EventFilter, give: (value: string) => string): string {
  const isIn = (stateOf: string): string => (state === undefined ? "true" : `${stateOf} = '${state}'`);
  const conditions = [
    type === undefined ? "true" : `type = ${give(storable(type))}`,
    state !== undefined && state in CANDIDATES ? `seq = ANY (ARRAY(${CANDIDATES[state]}))` : "true",
    handler === undefined
      ? isIn("work.state")
      : // Not by EXISTS: its plan, made while there are few jobs, reads all jobs of the handler.
        `(SELECT ${isIn(JOB_STATE)} FROM boss.job WHERE name = ${give(storable(handler))} AND id = ${jobId("events.seq")})`,
  ];
  return conditions.map((condition) => `AND ${condition}`).join(" ");
}

export type EventRow = Pick<
  InboxEvent,
  "seq" | "id" | "type" | "state" | "source" | "duplicates" | "receivedAtMs" | "jobs"
> & {
  dueAtMs: number;
  unwantedAtMs: number | null;
};

function eventOf({ dueAtMs, unwantedAtMs, ...row }: EventRow): InboxEvent {
  const { state, jobs } = row;
  const summary = summaryOf(jobs);
  const isUnseen = state === "pending" && jobs.length === 0;
  return {
    ...row,
    ...summary,
    state,
    finishedAtMs: summary.finishedAtMs ?? unwantedAtMs,
    nextAttemptAtMs: isUnseen ? dueAtMs : summary.nextAttemptAtMs,
  };
}

type PrunedRow = Omit<EventRow, "dueAtMs" | "unwantedAtMs"> & { handled: number };

type CountsRow = Pick<Counts, "byHandler" | "oldestUnfinishedAgeMs"> & {
  byState: Partial<Record<EventState, number>> | null;
  all: number;
  estimate: number;
};

function countsOf({ all, estimate, byState, byHandler, oldestUnfinishedAgeMs }: CountsRow): Counts {
  const { pending = 0, claimed = 0, ignored = 0, dead = 0 } = byState ?? {};
  const total = all < MOST_COUNTED ? all : Math.max(all, estimate);
  const done = Math.max(0, total - pending - claimed - ignored - dead);
  return {
    byState: { pending, claimed, done, ignored, dead },
    byHandler: byHandler ?? [],
    oldestUnfinishedAgeMs,
  };
}
