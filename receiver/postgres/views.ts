import { z } from "zod";
import { summaryOf } from "../store/job-rules.ts";
import { JOB_STATES } from "../store/ledger-port.ts";
import type { EventFilter, InboxEvent, InboxJob, Ledger } from "../store/port.ts";
import { storable, type Query } from "./connection.ts";
import { hexOf } from "./intake.ts";
import { outputSchema } from "./endings.ts";

/** All queues, by which pg-boss's key finds the jobs of an event. */
export const QUEUES = `ARRAY(SELECT queue.name FROM receiver.queue)`;
/** A job's state in our words. */
const STATE = `
  CASE WHEN job.state < 'active' THEN 'waiting' WHEN job.state = 'active' THEN 'running' WHEN job.state = 'completed' THEN 'done'
    WHEN job.state = 'failed' THEN 'dead' ELSE 'ignored' END`;

export const unixMs = (timestamp: string): string => `floor(extract(epoch FROM ${timestamp}) * 1000)::bigint`;
const HELD = `
  job.state < 'active' AND job.policy IS NOT NULL AND EXISTS (
    SELECT FROM receiver.job AS other WHERE other.name = job.name AND other.singleton_key = job.singleton_key AND other.id <> job.id
      AND other.policy IS NOT NULL AND (other.state IN ('retry', 'active')
        OR other.state = 'created' AND job.state = 'created' AND (other.created_on, other.id) < (job.created_on, job.id)))`;
const WITH_JOBS = `
  SELECT seq, replace(id::text, '-', '') AS id, type, object_id AS "objectId", source, ${unixMs("received_at")} AS "receivedAtMs",
    duplicates, handled, unwanted, body IS NULL AS "isPruned", coalesce((
      SELECT json_agg(json_build_object('handler', split_part(name, '/', 1), 'state', ${STATE},
        'attempts', retry_count + (started_on IS NOT NULL AND job.state <> 'cancelled')::integer, 'held', ${HELD},
        'dueAtMs', ${unixMs("start_after")}, 'finishedAtMs', ${unixMs("completed_on")}, 'output', output) ORDER BY name)
      FROM receiver.job WHERE name = ANY (${QUEUES}) AND job.id = events.id), '[]') AS jobs
  FROM receiver.events`;
const FIND = `${WITH_JOBS} WHERE id = $1 OR alias = $1`;
const FIND_BODY = `SELECT body FROM receiver.events WHERE seq = $1`;
const MATCHES = `
  ($2::text IS NULL OR type = $2) AND (NOT $3::boolean OR body IS NULL)
  AND (NOT $4::boolean OR ($5::boolean AND unwanted) OR EXISTS (
    SELECT FROM receiver.job WHERE name = ANY (${QUEUES}) AND job.id = events.id AND ($6::text IS NULL OR ${STATE} = $6)
      AND ($7::text IS NULL OR split_part(name, '/', 1) = $7) AND ($8::text IS NULL OR output->>'cause' = $8)))`;
/** There are few of many: an index finds them. */
const RARE = new Map([
  ["running", "id IN (SELECT id FROM receiver.job WHERE state = 'active') AND"],
  ["dead", "id IN (SELECT id FROM receiver.job WHERE state = 'failed') AND"],
]);
const list = (direction: "< $1" | "> $1", rare: string): string => {
  const order = `ORDER BY seq ${direction === "< $1" ? "DESC" : ""}`;
  return `${WITH_JOBS} WHERE seq IN (
    SELECT seq FROM receiver.events WHERE seq ${direction} AND ${rare} ${MATCHES} ${order} LIMIT $9::integer) ${order}`;
};

const jobSchema = z.object({
  handler: z.string(),
  state: z.enum(JOB_STATES),
  attempts: z.number(),
  held: z.boolean(),
  dueAtMs: z.number(),
  finishedAtMs: z.number().nullable(),
  output: outputSchema,
});

type Row = Omit<InboxEvent, "state" | "jobs" | "handled"> & {
  handled: number | null;
  unwanted: boolean | null;
  isPruned: boolean;
  jobs: unknown;
};

/** Events as operators see them. */
export function createViews(run: Query): Pick<Ledger, "find" | "body" | "list"> {
  return {
    find: async (id) => {
      const [row] = await run<Row>(FIND, [hexOf(id)]);
      return row && toEvent(row);
    },
    body: async (seq) => (await run<{ body: Buffer | null }>(FIND_BODY, [seq]))[0]?.body ?? undefined,
    list: async (filter, page) => {
      const isUp = "afterSeq" in page;
      const from = isUp ? page.afterSeq : (page.beforeSeq ?? Number.MAX_SAFE_INTEGER);
      const text = list(isUp ? "> $1" : "< $1", RARE.get(filter.state ?? "") ?? "");
      const rows = await run<Row>(text, [from, ...valuesOf(filter), page.limit]);
      return rows.map(toEvent);
    },
  };
}

function valuesOf({ state, type, handler, cause }: EventFilter): unknown[] {
  const ofJob = state === "pruned" ? undefined : state;
  const hasJob = ofJob !== undefined || handler !== undefined || cause !== undefined;
  return [
    type === undefined ? null : storable(type),
    state === "pruned",
    hasJob,
    // An event that no handler wanted has no job, and counts as ignored.
    state === "ignored" && handler === undefined && cause === undefined,
    ofJob ?? null,
    handler ?? null,
    cause ?? null,
  ];
}

function toEvent({ isPruned, handled, unwanted, jobs: rows, id: hex, ...event }: Row): InboxEvent {
  const jobs = z.array(jobSchema).parse(rows).map(toJob);
  const id = `evt_${hex}`;
  const summary = summaryOf(jobs);
  if (isPruned) return { ...event, id, ...summary, state: "pruned", handled: handled ?? 0, jobs: [] };
  const nobody = {
    state: unwanted === true ? "ignored" : "waiting",
    finishedAtMs: unwanted === true ? event.receivedAtMs : null,
    handled: 0,
  } as const;
  return { ...event, id, ...summary, ...(jobs.length === 0 && nobody), jobs };
}

function toJob({
  dueAtMs,
  output: { errors, deferred, cause },
  ...row
}: z.infer<typeof jobSchema>): InboxJob {
  const isWaiting = row.state === "waiting";
  return {
    ...row,
    handled: row.state === "done" ? 1 : 0,
    deferred: isWaiting && deferred,
    nextAttemptAtMs: isWaiting && !row.held ? dueAtMs : null,
    lastError: row.state === "ignored" ? (cause ?? null) : (errors[0]?.error ?? null),
    errors: errors.slice(0),
  };
}
