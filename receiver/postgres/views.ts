import { z } from "zod";
import { HELD, inboxEvent, valuesOf, type EventRow, type JobRow } from "../store/job-rules.ts";
import type { InboxEvent, Ledger } from "../store/port.ts";
import type { Query } from "./connection.ts";
import { hexOf } from "./intake.ts";

/** All queues: with them pg-boss's key finds the jobs of an event. */
export const QUEUES = `ARRAY(SELECT queue.name FROM receiver.queue)`;
/** A job's state in our terms. */
const STATE = `
  CASE WHEN job.state < 'active' THEN 'waiting' WHEN job.state = 'active' THEN 'running' WHEN job.state = 'completed' THEN 'done'
    WHEN job.state = 'failed' THEN 'dead' ELSE 'ignored' END`;

export const unixMs = (timestamp: string): string => `floor(extract(epoch FROM ${timestamp}) * 1000)::bigint`;
const IS_HELD = `
  job.state < 'active' AND job.policy IS NOT NULL AND EXISTS (
    SELECT FROM receiver.job AS other WHERE other.name = job.name AND other.singleton_key = job.singleton_key AND other.id <> job.id
      AND other.policy IS NOT NULL AND (other.state IN ('retry', 'active')
        OR other.state = 'created' AND job.state = 'created' AND (other.created_on, other.id) < (job.created_on, job.id)))`;
const WITH_JOBS = `
  SELECT seq, replace(id::text, '-', '') AS id, type, object_id AS "objectId", source, ${unixMs("received_at")} AS "receivedAtMs",
    duplicates, handled, body IS NULL AS "isPruned", coalesce((
      SELECT json_agg(json_build_object('handler', split_part(name, '/', 1), 'state', ${STATE}, 'handled', (job.state = 'completed')::integer,
        'attempts', retry_count + (started_on IS NOT NULL AND job.state <> 'cancelled')::integer,
        'dueAtMs', CASE WHEN ${IS_HELD} THEN ${String(HELD)} ELSE ${unixMs("start_after")} END, 'finishedAtMs', ${unixMs("completed_on")},
        'deferred', coalesce((output->'deferred')::integer, 0), 'errors', output->>'errors', 'cause', output->>'cause') ORDER BY name)
      FROM receiver.job WHERE name = ANY (${QUEUES}) AND job.id = events.id), '[]') AS jobs
  FROM receiver.events`;
const FIND = `${WITH_JOBS} WHERE id = $1 OR alias = $1`;
const FIND_BODY = `SELECT body FROM receiver.events WHERE seq = $1`;
const MATCHES = `
  ($2::text IS NULL OR type = $2) AND ($3 = 0 OR body IS NULL)
  AND ($4 = 0 OR EXISTS (
    SELECT FROM receiver.job WHERE name = ANY (${QUEUES}) AND job.id = events.id AND ($5::text IS NULL OR ${STATE} = $5)
      AND ($6::text IS NULL OR split_part(name, '/', 1) = $6) AND ($7::text IS NULL OR output->>'cause' = $7)))`;
/** Few jobs are in these states, so an index finds them. */
const RARE = new Map([
  ["running", "id IN (SELECT id FROM receiver.job WHERE state = 'active') AND"],
  ["dead", "id IN (SELECT id FROM receiver.job WHERE state = 'failed') AND"],
]);
const list = (isUp: boolean, rare = ""): string => {
  const [beyond, order] = isUp ? ["> $1", "ORDER BY seq"] : ["< $1", "ORDER BY seq DESC"];
  return `${WITH_JOBS} WHERE seq IN (
    SELECT seq FROM receiver.events WHERE seq ${beyond} AND ${rare} ${MATCHES} ${order} LIMIT $8::integer) ${order}`;
};

type Row = EventRow & { id: string; jobs: string };

/** Events as operators see them. */
export function createViews(run: Query): Pick<Ledger, "find" | "body" | "list"> {
  return {
    find: async (id) => (await run<Row>(FIND, [hexOf(id)])).map(toEvent)[0],
    body: async (seq) => (await run<{ body: Buffer | null }>(FIND_BODY, [seq]))[0]?.body ?? undefined,
    list: async (filter, page) => {
      const isUp = "afterSeq" in page;
      const from = isUp ? page.afterSeq : (page.beforeSeq ?? Number.MAX_SAFE_INTEGER);
      const { type, isPruned, ofJob, state, handler, cause } = valuesOf(filter);
      const values = [from, type, isPruned, ofJob, state, handler, cause, page.limit];
      return (await run<Row>(list(isUp, RARE.get(state ?? "")), values)).map(toEvent);
    },
  };
}

/** Our own statement makes them. */
const jobsSchema = z.custom<JobRow[]>(Array.isArray);

function toEvent({ id, jobs, ...event }: Row): InboxEvent {
  return inboxEvent(`evt_${id}`, event, event.isPruned === 1 ? [] : jobsSchema.parse(JSON.parse(jobs)));
}
