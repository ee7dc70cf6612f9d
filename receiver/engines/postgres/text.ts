import { hash } from "node:crypto";

/** A text as PostgreSQL can hold it: without zero bytes and halves of surrogate pairs. No name that we look for has either. */
export const storable = (text: string): string => text.toWellFormed().replaceAll("\0", "\ufffd");

/** The id as PostgreSQL's 16 bytes: upper and lower case are the same. */
export const uuidOf = (id: string): string => id.slice("evt_".length).toLowerCase();

/** An object and the type of an event about it, as 16 bytes that only they have. JSON keeps apart what `storable` does not. */
export const objectKey = (type: string, objectId: string): string =>
  hash("sha256", JSON.stringify([type, objectId])).slice(0, 32);

/** The id of an event, spelled as it came. */
export const ID = `coalesce(events.spelling, 'evt_' || replace(events.id::text, '-', ''))`;

/**
 * The id of each job of the event `seq`, in SQL: pg-boss's key is the queue's name and this. So jobs are found without an
 * index of their own, and stand in the order of their events.
 */
export const jobId = (seq: string): string => `lpad(to_hex(${seq}), 32, '0')::uuid`;

/** Milliseconds of Unix time of a timestamp, in SQL. */
export const unixMs = (timestamp: string): string => `floor(extract(epoch FROM ${timestamp}) * 1000)::bigint`;

/** The event of a job's id, in SQL. */
export const eventSeq = (id: string): string =>
  `('x' || right(replace(${id}::text, '-', ''), 16))::bit(64)::bigint`;

/** A job's state in our words, in SQL. */
export const JOB_STATE = `
  CASE WHEN job.state = 'active' THEN 'claimed' WHEN job.state = 'completed' THEN 'done' WHEN job.state = 'failed' THEN 'dead'
    WHEN job.state = 'cancelled' THEN 'ignored' ELSE 'pending' END`;
const JOB = `json_build_object(
  'handler', name, 'state', ${JOB_STATE}, 'attempts', retry_count + (started_on IS NOT NULL)::integer,
  'handled', (job.state = 'completed')::integer, 'lastError', output->>'error',
  'nextAttemptAtMs', CASE WHEN job.state < 'active' THEN ${unixMs("start_after")} END,
  'deferred', job.state < 'active' AND coalesce(output ? 'deferred', false),
  'finishedAtMs', ${unixMs("completed_on")})`;
/** Each event with its jobs. One from before handlers had names shows what was done with it, under its type's name. */
export const WITH_JOBS = `
  receiver.events CROSS JOIN LATERAL (
    SELECT json_agg(${JOB} ORDER BY name) AS jobs,
      CASE WHEN bool_or(job.state = 'active') THEN 'claimed' WHEN bool_or(job.state < 'active') THEN 'pending'
        WHEN bool_or(job.state = 'failed') THEN 'dead' WHEN bool_or(job.state = 'completed') THEN 'done'
        WHEN count(*) > 0 THEN 'ignored' WHEN events.state IS NOT NULL THEN events.state
        WHEN offer = 'unwanted' THEN 'ignored' ELSE 'pending' END AS state
    FROM boss.job WHERE name = ANY (ARRAY(SELECT name FROM receiver.handlers)) AND job.id = ${jobId("events.seq")}) AS work`;
