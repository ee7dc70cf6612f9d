import type { Ledger } from "../../engine.ts";
import type { Boss } from "./boss.ts";
import type { Database } from "./connection.ts";
import { jobId, WITH_JOBS } from "./text.ts";

/** Rows looked at, and deleted, by one statement: short enough that nobody waits for it. */
const WINDOW = 500;

const MARK = `
  UPDATE receiver.facts SET pruned_before =
    greatest(pruned_before, date_trunc('milliseconds', clock_timestamp() - $1 * interval '1 ms'))`;

/** The next rows in the order of arrival, whatever their age: seq and time grow together. */
const LOOK = `
  WITH seen AS (
    SELECT seq, work.state, received_at < clock_timestamp() - $2 * interval '1 ms' AS old
    FROM ${WITH_JOBS} WHERE seq > $1 ORDER BY seq LIMIT ${String(WINDOW)})
  SELECT max(seq) AS "lastSeq", count(*) FILTER (WHERE old) AS old,
    coalesce(array_agg(seq) FILTER (WHERE old AND state IN ('done', 'ignored')), '{}')::text[] AS finished
  FROM seen`;

/** While these rows are locked, none of the events is requeued. */
const LOCK = `SELECT FROM receiver.events WHERE seq = ANY ($1::bigint[]) ORDER BY seq FOR UPDATE`;

/**
 * Only the id stays, with its aliases, and whether the event was handled. What reconcile found keeps its object for as
 * long: the service's own event may still come, with another id.
 */
const FORGET_BODIES = `
  WITH finished AS MATERIALIZED (
    SELECT seq, greatest(handled, (work.state = 'done')::integer) AS handled
    FROM ${WITH_JOBS} WHERE seq = ANY ($1::bigint[]) AND work.state IN ('done', 'ignored')
  ), forgotten AS (
    DELETE FROM receiver.events USING finished WHERE events.seq = finished.seq
    RETURNING events.seq, id, object, finished.handled
  ), jobs AS (
    DELETE FROM boss.job USING finished
    WHERE name = ANY (ARRAY(SELECT name FROM receiver.handlers)) AND job.id = ${jobId("finished.seq")}
  ), steps AS (
    DELETE FROM receiver.steps USING finished WHERE steps.seq = finished.seq
  ), objects AS (
    DELETE FROM receiver.objects USING forgotten
    WHERE objects.key = forgotten.object AND objects.seq = forgotten.seq AND NOT objects.reconciled
  ), ids AS (
    UPDATE receiver.ids SET handled = forgotten.handled FROM forgotten WHERE ids.id = forgotten.id
  ), aliases AS (
    UPDATE receiver.ids SET handled = forgotten.handled FROM forgotten WHERE ids.alias AND ids.seq = forgotten.seq
  )
  SELECT seq FROM forgotten`;

const FORGET_IDS = `
  WITH forgotten AS (
    DELETE FROM receiver.ids WHERE id = ANY (ARRAY(
      SELECT id FROM receiver.ids
      -- By now(), which stays the same for a whole statement: with clock_timestamp() no index is used.
      WHERE day < floor(extract(epoch FROM now() - $1 * interval '1 ms') / 86400)::integer
        AND NOT EXISTS (SELECT FROM receiver.events WHERE events.seq = ids.seq)
      LIMIT ${String(WINDOW)}))
    RETURNING id, seq
  ), objects AS (
    DELETE FROM receiver.objects USING forgotten WHERE objects.reconciled AND objects.seq = forgotten.seq
      AND objects.seq = ANY (ARRAY(SELECT seq FROM forgotten))
  )
  SELECT count(*) AS count FROM forgotten`;

type Seen = { lastSeq: number | null; old: number; finished: string[] };

/**
 * Deletes what has been kept long enough, some hundred rows a statement, so that it may stop after any of them; then
 * pg-boss maintains its own tables.
 */
export function createPrune({ run, transaction }: Database, boss: Pick<Boss, "supervise">): Ledger["prune"] {
  return async ({ bodiesOlderThanMs, idsOlderThanMs }) => {
    const bodies = await forgetBodies(bodiesOlderThanMs);
    const ids = await forgetIds(idsOlderThanMs);
    await boss.supervise();
    return { bodies, ids };
  };

  async function forgetBodies(olderThanMs: number): Promise<number> {
    let [forgotten, afterSeq] = [0, 0];
    for (;;) {
      const [seen] = await run<Seen>(LOOK, [afterSeq, olderThanMs]);
      if (!seen || seen.lastSeq === null || seen.old === 0) return forgotten;
      if (seen.finished.length > 0) {
        // The mark comes first: whoever asks in between takes more for pruned than is, and never less.
        if (forgotten === 0) await run(MARK, [olderThanMs]);
        forgotten += await transaction(async (_client, query) => {
          await query(LOCK, [seen.finished]);
          return (await query(FORGET_BODIES, [seen.finished])).length;
        });
      }
      afterSeq = seen.lastSeq;
    }
  }

  async function forgetIds(olderThanMs: number): Promise<number> {
    let forgotten = 0;
    for (;;) {
      const [{ count } = { count: 0 }] = await run<{ count: number }>(FORGET_IDS, [olderThanMs]);
      forgotten += count;
      if (count < WINDOW) return forgotten;
    }
  }
}
