import type { Counts, Ledger } from "../store/port.ts";
import type { Database, Query } from "./connection.ts";
import { ADD_JOBS, announced, CANCEL, jobsOf } from "./handlers.ts";
import { hexOf, type EventRow } from "./intake.ts";
import { SET_BOOKMARK } from "./schema.ts";
import { createViews, QUEUES, STATE } from "./views.ts";

/** Events that are changed, and rows that are pruned, in one transaction. */
const BATCH = 200;
const PRUNED_BEFORE = "pruned before";

/** By the indexes of what is unfinished and of what is set aside: what is done is not counted. */
const COUNT_JOBS = `
  WITH counted AS (
    SELECT name, state, retry_count + (started_on IS NOT NULL)::integer > 0 AS begun, created_on, NULL AS cause
    FROM receiver.job WHERE state < 'active' AND NOT blocked
    UNION ALL
    SELECT name, state, false, created_on, CASE WHEN state = 'failed' THEN output->>'cause' END
    FROM receiver.job WHERE state IN ('active', 'failed', 'cancelled'))
  SELECT split_part(name, '/', 1) AS handler, ${STATE} AS state, cause, count(*) AS jobs,
    count(*) FILTER (WHERE begun) AS failing, floor(extract(epoch FROM min(created_on)) * 1000)::bigint AS oldest
  FROM counted AS job GROUP BY 1, 2, 3`;
const COUNT_EVENTS = `
  SELECT (SELECT coalesce(max(seq), 0) FROM receiver.events) AS seqs,
    (SELECT count(*) FROM receiver.events WHERE unwanted AND body IS NOT NULL) AS unwanted,
    (SELECT count(*) FROM receiver.events) AS events`;
const LIST = `
  SELECT seq, replace(id::text, '-', '') AS id, type, body, unwanted, ceil(extract(epoch FROM received_at) * 1000000)::bigint AS at
  FROM receiver.events WHERE (id = ANY ($1) OR alias = ANY ($1)) AND body IS NOT NULL ORDER BY seq FOR UPDATE`;
const OF_EVENTS = `
  name = ANY (${QUEUES}) AND id = ANY ($1::uuid[]) AND ($2::text IS NULL OR split_part(name, '/', 1) = $2)`;
const REQUEUE = `
  UPDATE receiver.job SET state = 'created', start_after = now(), retry_count = 0, started_on = NULL, completed_on = NULL,
    policy = CASE WHEN name LIKE '%/key' THEN 'key_strict_fifo' END, output = output - 'cause',
    data = jsonb_build_object('since', floor(extract(epoch FROM now()) * 1000))
  WHERE ${OF_EVENTS} AND state IN ('failed', 'cancelled') RETURNING replace(id::text, '-', '') AS id`;
const DISCARD = `
  UPDATE receiver.job SET ${CANCEL},
    output = coalesce(output, '{}') || jsonb_build_object('cause', $3::text)
  WHERE ${OF_EVENTS} AND (state < 'active' OR state = 'failed') RETURNING id`;
const COUNT_JOBS_OF = `
  SELECT replace(id::text, '-', '') AS id, count(*) AS jobs FROM receiver.job WHERE name = ANY (${QUEUES}) AND id = ANY ($1::uuid[]) GROUP BY id`;
const SET_WANTED = `UPDATE receiver.events SET unwanted = false WHERE id = ANY ($1::uuid[])`;

const PRUNE = `
  WITH old AS MATERIALIZED (
    SELECT seq, id FROM receiver.events WHERE seq > $1 AND body IS NOT NULL AND unwanted IS NOT NULL
      AND received_at < to_timestamp($2::double precision / 1000)
      AND NOT EXISTS (SELECT FROM receiver.job WHERE name = ANY (${QUEUES}) AND job.id = events.id AND state NOT IN ('completed', 'cancelled'))
    ORDER BY seq LIMIT ${String(BATCH)} FOR UPDATE
  ), jobs AS (
    DELETE FROM receiver.job USING old WHERE name = ANY (${QUEUES}) AND job.id = old.id RETURNING job.id, job.state
  ), steps AS (
    DELETE FROM receiver.steps USING old WHERE steps.id = old.id)
  UPDATE receiver.events SET body = NULL, duplicates = 0,
    handled = (SELECT count(*) FROM (SELECT FROM jobs WHERE jobs.id = events.id AND jobs.state = 'completed' LIMIT 1) AS done),
    type = CASE WHEN source = 'reconcile' THEN type END, object_id = CASE WHEN source = 'reconcile' THEN object_id END,
    source = CASE WHEN source = 'reconcile' THEN source END
  FROM old WHERE events.seq = old.seq RETURNING events.seq`;
const DELETE_IDS = `
  DELETE FROM receiver.events WHERE seq = ANY (ARRAY(
    SELECT seq FROM receiver.events WHERE received_at < to_timestamp($1::double precision / 1000) AND body IS NULL
    LIMIT ${String(BATCH)})) RETURNING seq`;

const KNOWN = `SELECT DISTINCT object_id FROM receiver.events WHERE object_id = ANY ($2) AND type = $1`;
const GET_BOOKMARK = `SELECT value FROM receiver.bookmarks WHERE name = $1`;
const DELETE_BOOKMARK = `DELETE FROM receiver.bookmarks WHERE name = $1`;
const CHECK = `
  SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages, pg_is_in_recovery() AS "isStandby"`;

/** What operators ask and do. */
export function createLedger({ run, transaction }: Database): Ledger {
  const bookmark = async (name: string): Promise<string | undefined> =>
    (await run<{ value: string }>(GET_BOOKMARK, [name]))[0]?.value;

  return {
    ...createViews(run),
    counts,
    handlers: async () => (await announced(run)).map(({ name, types }) => ({ name, types })),
    requeue: async (ids, handler) => inBatches(ids, async (query, some) => requeue(query, some, handler)),
    discard: async (ids, { handler = null, reason }) =>
      inBatches(ids, async (query, some) => {
        const events = (await query<EventRow>(LIST, [some])).map(({ id }) => id);
        const discarded = await query<{ id: string }>(DISCARD, [events, handler, reason]);
        return new Set(discarded.map(({ id }) => id)).size;
      }),
    prune: async ({ bodiesMs, idsMs }) => ({
      bodies: await pruneBodies(bodiesMs),
      ids: await pruneIds(idsMs),
    }),
    prunedBeforeMs: async () => Number((await bookmark(PRUNED_BEFORE)) ?? 0),
    known: async (type, objectIds) => {
      const rows = await run<{ object_id: string }>(KNOWN, [type, objectIds]);
      return new Set(rows.map((row) => row.object_id));
    },
    bookmark,
    setBookmark: async (name, value) =>
      void (await (value === undefined ? run(DELETE_BOOKMARK, [name]) : run(SET_BOOKMARK, [name, value]))),
    check: async () => {
      const [found] = await run<{ fsync: string; pages: string; isStandby: boolean }>(CHECK);
      return [
        ...(found?.fsync === "off"
          ? ["fsync is off: a power cut loses acknowledged events. Turn it on."]
          : []),
        ...(found?.pages === "off" ? ["full_page_writes is off: turn it on."] : []),
        ...(found?.isStandby ? ["This server is a standby: name the primary in DATABASE_URL."] : []),
      ];
    },
  };

  async function counts(): Promise<Counts> {
    type Row = { handler: string; cause: string | null; jobs: number; failing: number; oldest: number } & {
      state: "waiting" | "running" | "dead" | "ignored";
    };
    const [rows, handlers, [events]] = await Promise.all([
      run<Row>(COUNT_JOBS),
      announced(run),
      run<{ events: number; unwanted: number }>(COUNT_EVENTS),
    ]);
    const names = [
      ...new Set([...handlers, ...rows.map(({ handler: name }) => ({ name }))].map(({ name }) => name)),
    ];
    const sum = (of: readonly Row[], field: "jobs" | "failing" = "jobs") =>
      of.reduce((total, row) => total + row[field], 0);
    return {
      events: events?.events ?? 0,
      unwanted: events?.unwanted ?? 0,
      handlers: names.toSorted().map((handler) => {
        const own = rows.filter((row) => row.handler === handler);
        const inState = (state: Row["state"]) => own.filter((row) => row.state === state);
        const unfinished = [...inState("waiting"), ...inState("running")];
        return {
          handler,
          waiting: sum(inState("waiting")),
          running: sum(inState("running")),
          failing: sum(inState("waiting"), "failing"),
          dead: sum(inState("dead")),
          ignored: sum(inState("ignored")),
          oldestUnfinishedAtMs:
            unfinished.length === 0 ? null : Math.min(...unfinished.map(({ oldest }) => oldest)),
        };
      }),
      causes: rows
        .flatMap(({ handler, cause, state, jobs }) =>
          state === "dead" ? [{ handler, cause: cause ?? "", dead: jobs }] : [],
        )
        .toSorted((a, b) => b.dead - a.dead),
    };
  }

  /** Returns how many of the events have changed. */
  async function inBatches(
    ids: readonly string[],
    change: (query: Query, ids: readonly string[]) => Promise<number>,
  ): Promise<number> {
    let changed = 0;
    for (let at = 0; at < ids.length; at += BATCH) {
      const some = ids.slice(at, at + BATCH).map(hexOf);
      changed += await transaction(async (query) => change(query, some));
    }
    return changed;
  }

  async function requeue(query: Query, ids: readonly string[], handler?: string): Promise<number> {
    const events = await query<EventRow & { body: Buffer; unwanted: boolean | null }>(LIST, [ids]);
    const requeued = await query<{ id: string }>(REQUEUE, [events.map(({ id }) => id), handler ?? null]);
    const changed = new Set(requeued.map(({ id }) => id));
    // Others get jobs that they never had: of the handler that was named, or of all if no handler had wanted them.
    const offered = events.filter(
      ({ id, unwanted }) =>
        !changed.has(id) && (handler === undefined ? unwanted === true : unwanted !== null),
    );
    const handlers = (await announced(query)).filter(({ name }) => handler === undefined || name === handler);
    const jobs = offered.flatMap((event) =>
      jobsOf(event, () => JSON.parse(event.body.toString("utf8")) as unknown, handlers),
    );
    const before = await jobCounts(query, offered);
    await query(ADD_JOBS, [JSON.stringify(jobs)]);
    const after = await jobCounts(query, offered);
    const gained = offered.map(({ id }) => id).filter((id) => after.get(id) !== before.get(id));
    await query(SET_WANTED, [gained]);
    return changed.size + gained.length;
  }

  async function jobCounts(query: Query, events: readonly EventRow[]): Promise<Map<string, number>> {
    const rows = await query<{ id: string; jobs: number }>(COUNT_JOBS_OF, [events.map(({ id }) => id)]);
    return new Map(rows.map(({ id, jobs }) => [id, jobs]));
  }

  async function pruneBodies(beforeMs: number): Promise<number> {
    let pruned = 0;
    for (let after = 0; ;) {
      const rows = await run<{ seq: number }>(PRUNE, [after, beforeMs]);
      pruned += rows.length;
      after = rows.reduce((last, { seq }) => Math.max(last, seq), after);
      if (rows.length > 0 && beforeMs > Number((await bookmark(PRUNED_BEFORE)) ?? 0))
        await run(SET_BOOKMARK, [PRUNED_BEFORE, String(beforeMs)]);
      if (rows.length < BATCH) return pruned;
    }
  }

  async function pruneIds(beforeMs: number): Promise<number> {
    let pruned = 0;
    for (;;) {
      const { length } = await run(DELETE_IDS, [beforeMs]);
      pruned += length;
      if (length < BATCH) return pruned;
    }
  }
}
