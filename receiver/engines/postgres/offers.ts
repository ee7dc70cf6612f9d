import { hash } from "node:crypto";
import type { JobHandler } from "../../engine.ts";
import { addQueues, KEYED, SUSPECT, type Boss } from "./boss.ts";
import type { Look } from "./claims.ts";
import type { Database } from "./connection.ts";
import { eventSeq, ID, jobId, storable } from "./text.ts";

/** While other workers live, their handlers stay: one of them that starts again beside newer ones takes none away. */
const ANNOUNCE = `
  WITH announced AS (SELECT * FROM json_to_recordset($1) AS announced(name text, types text[], has_key boolean)),
  others AS (
    UPDATE receiver.handlers SET current = false WHERE current AND name NOT IN (SELECT name FROM announced)
      AND NOT EXISTS (SELECT FROM receiver.workers WHERE lease_until > clock_timestamp() AND id <> $2)),
  queues AS (
    UPDATE boss.queue SET policy = CASE WHEN has_key THEN 'key_strict_fifo' ELSE 'standard' END
    FROM announced WHERE queue.name = announced.name)
  INSERT INTO receiver.handlers (name, types, has_key, current)
  SELECT name, types, has_key, true FROM announced
  ON CONFLICT (name) DO UPDATE SET types = excluded.types, has_key = excluded.has_key, current = true, seen = now()`;
const IGNORE_GONE = `
  UPDATE boss.job SET state = 'cancelled', completed_on = now(), policy = NULL
  WHERE state < 'active' AND NOT blocked AND name = ANY (ARRAY(SELECT name FROM receiver.handlers WHERE NOT current))`;

/** Whether anybody wants an event of this type, and whether there is anybody at all. */
export const offerOf = (type: string): string => `
  CASE WHEN EXISTS (SELECT FROM receiver.handlers WHERE current AND (types IS NULL OR ${type} = ANY (types))) THEN 'offered'
    WHEN EXISTS (SELECT FROM receiver.handlers WHERE current) THEN 'unwanted' ELSE 'waiting' END`;

/**
 * One job for each handler that wants an event and has none of it. What had attempts before handlers had names goes on
 * from there.
 */
export const makeJobs = (events: string, { where = "true", data = "NULL::jsonb" } = {}): string => `
  INSERT INTO boss.job (id, name, state, priority, retry_count, started_on, start_after, created_on, data, output,
    retry_limit, expire_seconds, deletion_seconds, keep_until)
  SELECT ${jobId("event.seq")}, handlers.name, (CASE WHEN attempts > 0 THEN 'retry' ELSE 'created' END)::boss.job_state,
    (attempts > 0)::integer, greatest(attempts - 1, 0), CASE WHEN attempts > 0 THEN received_at END,
    coalesce(due_at, now()), received_at, ${data}, CASE WHEN last_error IS NOT NULL THEN jsonb_build_object('error', last_error) END,
    2147483647, 2147483647, 0, 'infinity'
  FROM ${events} AS event JOIN receiver.handlers ON current AND (types IS NULL OR event.type = ANY (types))
  WHERE ${where}
  ON CONFLICT DO NOTHING
  RETURNING id`;

const OFFER_WAITING = `
  WITH offered AS (
    UPDATE receiver.events SET offer = ${offerOf("type")}
    WHERE seq = ANY (ARRAY(
      SELECT seq FROM receiver.events WHERE offer = 'waiting' ORDER BY seq LIMIT 500 FOR UPDATE SKIP LOCKED))
    RETURNING *
  ), jobs AS (${makeJobs("offered")})
  SELECT FROM offered`;

/** Finds no row where another version has announced the handler since: then its jobs are for that version's workers. */
const LOCK_HANDLER = `SELECT 1 AS locked FROM receiver.handlers WHERE name = $1 AND has_key = $2 FOR UPDATE SKIP LOCKED`;
/** The oldest jobs that wait with a key though the handler has none, or without one though it has: new, retries and suspects. */
const FIND_MISFITS = `
  SELECT misfit.id AS job, ${ID} AS id, type, body
  FROM generate_series($2::integer, $2 + ${String(SUSPECT)}) AS kind
  CROSS JOIN LATERAL (
    SELECT id, created_on FROM boss.job WHERE name = $1 AND priority = kind AND state < 'active' AND NOT blocked
    ORDER BY created_on LIMIT 200) AS misfit
  JOIN receiver.events ON seq = ${eventSeq("misfit.id")}
  ORDER BY created_on, misfit.id LIMIT 200`;
/** pg-boss hands out one job of a key at a time, the oldest first, and what waits for a retry before it. */
const FIT = `
  UPDATE boss.job SET singleton_key = key, policy = CASE WHEN key IS NOT NULL THEN 'key_strict_fifo' END,
    priority = priority % ${String(KEYED)} + CASE WHEN key IS NOT NULL THEN ${String(KEYED)} ELSE 0 END,
    state = (CASE WHEN error IS NOT NULL THEN 'failed' WHEN key IS NOT NULL THEN 'created' ELSE state::text END)::boss.job_state,
    start_after = CASE WHEN key IS NOT NULL THEN now() ELSE start_after END,
    completed_on = CASE WHEN error IS NOT NULL THEN now() END,
    output = CASE WHEN error IS NULL THEN output ELSE jsonb_build_object('error', error) END
  FROM json_to_recordset($2) AS fitted(job uuid, key text, error text)
  WHERE job.name = $1 AND job.id = fitted.job AND state < 'active' AND job.id = ANY ($3::uuid[])`;

/** From an event to its jobs, where the intake couldn't make them: it knows names and types, and no keys. */
export type Offers = ReturnType<typeof createOffers>;

export function createOffers({ run, transaction }: Database, boss: Boss) {
  return {
    /** Makes known which handlers there are. Their worker's lease has begun, so that others that start see it. */
    announce: async (worker: string, handlers: readonly JobHandler[]): Promise<void> => {
      const names = handlers.map(({ name }) => name);
      await addQueues(boss, names);
      const announced = handlers.map(({ name, types, key }) => {
        return { name, types: types === "*" ? null : types, has_key: key !== undefined };
      });
      await run(ANNOUNCE, [JSON.stringify(announced), worker]);
      await run(IGNORE_GONE);
    },
    /**
     * Makes the jobs of events that came before anybody was there to want them, and ends those whose handlers are gone,
     * also of events that were being stored while they went.
     */
    offer: async ({ waiting, gone }: Pick<Look, "waiting" | "gone">): Promise<void> => {
      if (gone) await run(IGNORE_GONE);
      if (waiting) await run(OFFER_WAITING);
    },
    /**
     * Finds the keys of jobs, in the order of their events and one worker at a time, so that none is overtaken; takes
     * theirs from jobs of a handler that has none any more. Answers those whose key failed: they are dead.
     */
    fit: async ({ name, key }: JobHandler): Promise<{ id: string; type: string; error: string }[]> =>
      transaction(async (_client, query) => {
        if ((await query(LOCK_HANDLER, [name, key !== undefined])).length === 0) return [];
        const misfits = await query<Misfit>(FIND_MISFITS, [name, key ? 0 : KEYED]);
        const fitted = misfits.map(({ body, ...event }) => ({ ...event, ...(key ? keyOf(body, key) : {}) }));
        await query(FIT, [name, JSON.stringify(fitted), fitted.map(({ job }) => job)]);
        return fitted.flatMap((one) => ("error" in one ? [one] : []));
      }),
  };
}

type Misfit = { job: string; id: string; type: string; body: Buffer };

/** Its hash: keys are phone numbers often, and of any length. */
function keyOf(body: Buffer, key: NonNullable<JobHandler["key"]>): { key: string } | { error: string } {
  try {
    return { key: hash("sha256", key(body.toString("utf8"))) };
  } catch (error) {
    return { error: storable(`The handler's key failed: ${String(error)}`) };
  }
}
