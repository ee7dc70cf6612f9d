import type { Counts, HandlerCounts, Ledger } from "../store/port.ts";
import type { Database, Query } from "./connection.ts";
import { ANNOUNCED, announced, cancelled, offer, type StoredEvent } from "./handlers.ts";
import { hexOf } from "./intake.ts";
import { UNWANTED, SET_BOOKMARK } from "./schema.ts";
import { createViews, QUEUES, unixMs } from "./views.ts";

/** Rows pruned in one transaction. */
const BATCH = 200;
const PRUNED_BEFORE = "pruned before";

/** Uses the indexes of unfinished and of failed jobs: done jobs are not counted. */
const COUNT_JOBS = `
  WITH counted AS (
    SELECT split_part(name, '/', 1) AS name, state, created_on, retry_count + (started_on IS NOT NULL)::integer > 0 AS begun
    FROM receiver.job WHERE state < 'active' AND NOT blocked
    UNION ALL
    SELECT split_part(name, '/', 1), state, created_on, false FROM receiver.job WHERE state IN ('active', 'failed', 'cancelled'))
  SELECT name AS handler, count(*) FILTER (WHERE state < 'active') AS waiting, count(*) FILTER (WHERE state = 'active') AS running,
    count(*) FILTER (WHERE begun) AS failing, count(*) FILTER (WHERE state = 'failed') AS dead,
    count(*) FILTER (WHERE state = 'cancelled') AS ignored,
    ${unixMs("min(created_on) FILTER (WHERE state <= 'active')")} AS "oldestUnfinishedAtMs"
  FROM (SELECT name FROM receiver.announced UNION SELECT name FROM counted) AS names LEFT JOIN counted USING (name)
  WHERE name <> '' GROUP BY name ORDER BY name COLLATE "C"`;
const COUNT_CAUSES = `
  SELECT split_part(name, '/', 1) AS handler, coalesce(output->>'cause', '') AS cause, count(*) AS dead
  FROM receiver.job WHERE state = 'failed' GROUP BY 1, 2 ORDER BY 3 DESC`;
const COUNT_EVENTS = `
  SELECT (SELECT count(*) FROM receiver.job WHERE name = '${UNWANTED}' AND state = 'cancelled') AS unwanted,
    (SELECT count(*) FROM receiver.events) AS events`;

/** Events by their ids or aliases, unless they are pruned. */
const NAMED = `(id = ANY ($1) OR alias = ANY ($1)) AND body IS NOT NULL`;
/** Events that get jobs they never had: for the named handler, or for all handlers if none had wanted them. */
const LIST = `
  SELECT id, type, body FROM receiver.events WHERE ${NAMED} AND CASE WHEN $2::text IS NULL
    THEN EXISTS (SELECT FROM receiver.job WHERE name = '${UNWANTED}' AND job.id = events.id AND state = 'cancelled')
    ELSE NOT EXISTS (SELECT FROM receiver.job WHERE name = ANY (${QUEUES}) AND job.id = events.id
      AND (split_part(name, '/', 1) = $2 OR name = '${UNWANTED}' AND state = 'created')) END
  ORDER BY seq FOR UPDATE`;
const OF_NAMED = `
  name <> '${UNWANTED}' AND name = ANY (${QUEUES}) AND id = ANY (ARRAY(SELECT id FROM receiver.events WHERE ${NAMED}))
  AND ($2::text IS NULL OR split_part(name, '/', 1) = $2)`;
const REQUEUE = `
  UPDATE receiver.job SET state = 'created', start_after = now(), retry_count = 0, started_on = NULL, completed_on = NULL,
    policy = CASE WHEN name LIKE '%/key' THEN 'key_strict_fifo' END, output = output - ARRAY['cause', 'deferred'],
    data = jsonb_build_object('since', floor(extract(epoch FROM now()) * 1000))
  WHERE ${OF_NAMED} AND CASE WHEN $3 THEN state = 'completed' ELSE state IN ('failed', 'cancelled') END RETURNING id`;
const DISCARD = `
  UPDATE receiver.job SET ${cancelled("$3::text")} WHERE ${OF_NAMED} AND (state < 'active' OR state = 'failed') RETURNING id`;

const PRUNE = `
  WITH old AS MATERIALIZED (
    SELECT seq, id FROM receiver.events WHERE seq > $1 AND body IS NOT NULL
      AND received_at < to_timestamp($2::text::double precision / 1000)
      AND NOT EXISTS (SELECT FROM receiver.job WHERE name = ANY (${QUEUES}) AND job.id = events.id AND state NOT IN ('completed', 'cancelled'))
    ORDER BY seq LIMIT ${String(BATCH)} FOR UPDATE
  ), jobs AS (
    DELETE FROM receiver.job USING old WHERE name = ANY (${QUEUES}) AND job.id = old.id RETURNING job.id, job.state
  ), steps AS (
    DELETE FROM receiver.steps USING old WHERE steps.id = old.id
  ), bookmark AS (
    INSERT INTO receiver.bookmarks SELECT '${PRUNED_BEFORE}', $2::text WHERE EXISTS (SELECT FROM old)
    ON CONFLICT (name) DO UPDATE SET value = greatest(bookmarks.value::bigint, excluded.value::bigint)::text)
  UPDATE receiver.events SET body = NULL, duplicates = 0,
    handled = (EXISTS (SELECT FROM jobs WHERE jobs.id = events.id AND jobs.state = 'completed'))::integer,
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
  SELECT name || ' is off: a power cut loses acknowledged events. Turn it on.' AS line
  FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off'`;

/** What operators see and do. */
export function createLedger({ run, transaction }: Database): Ledger {
  const bookmark = async (name: string): Promise<string | undefined> =>
    (await run<{ value: string }>(GET_BOOKMARK, [name]))[0]?.value;

  return {
    ...createViews(run),
    counts: async () => {
      const [handlers, causes, [events]] = await Promise.all([
        run<HandlerCounts>(COUNT_JOBS),
        run<Counts["causes"][number]>(COUNT_CAUSES),
        run<{ events: number; unwanted: number }>(COUNT_EVENTS),
      ]);
      return { events: 0, unwanted: 0, ...events, handlers, causes };
    },
    handlers: async () => announced(await run(ANNOUNCED)).map(({ name, types }) => ({ name, types })),
    requeue: async (ids, handler, state) => {
      const values = [ids.map(hexOf), handler ?? null];
      return transaction(async (query) => {
        const events = await query<StoredEvent>(LIST, values);
        const handlers = announced(await query(ANNOUNCED)).filter(({ name }) => name === (handler ?? name));
        const again = await changedBy(query, REQUEUE, [...values, state === "done"]);
        return again + (await offer(query, events, handlers));
      });
    },
    discard: async (ids, { handler, reason }) =>
      changedBy(run, DISCARD, [ids.map(hexOf), handler ?? null, reason]),
    prune: async ({ bodiesMs, idsMs }) => ({
      bodies: await untilFew(async (after) => run<{ seq: number }>(PRUNE, [after, String(bodiesMs)])),
      ids: await untilFew(async () => run<{ seq: number }>(DELETE_IDS, [idsMs])),
    }),
    prunedBeforeMs: async () => Number((await bookmark(PRUNED_BEFORE)) ?? 0),
    known: async (type, objectIds) => {
      const rows = await run<{ object_id: string }>(KNOWN, [type, objectIds]);
      return new Set(rows.map((row) => row.object_id));
    },
    bookmark,
    setBookmark: async (name, value) =>
      void (await (value === undefined ? run(DELETE_BOOKMARK, [name]) : run(SET_BOOKMARK, [name, value]))),
    check: async () => (await run<{ line: string }>(CHECK)).map(({ line }) => line),
  };
}

/** Returns how many of the events changed. */
async function changedBy(query: Query, text: string, values: unknown[]): Promise<number> {
  const rows = await query<{ id: string }>(text, values);
  return new Set(rows.map(({ id }) => id)).size;
}

/** Calls `change` with the last row of the previous batch until a batch is not full. Returns the number of rows. */
async function untilFew(change: (after: number) => Promise<{ seq: number }[]>): Promise<number> {
  let [changed, after] = [0, 0];
  for (;;) {
    const rows = await change(after);
    changed += rows.length;
    if (rows.length < BATCH) return changed;
    after = Math.max(after, ...rows.map(({ seq }) => seq));
  }
}
