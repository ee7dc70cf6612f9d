import { createHash } from "node:crypto";
import type { JobHandler } from "../../engine.ts";
import type { Boss } from "./boss.ts";
import type { Look } from "./claims.ts";
import type { Database } from "./connection.ts";
import { eventSeq, ID, jobId, storable } from "./text.ts";

/** A handler has got a key, or has none any more: what waits is looked at once more. */
const SET_POLICY = `
  WITH changed AS (UPDATE boss.queue SET policy = $2 WHERE name = $1 AND policy <> $2 RETURNING name)
  UPDATE boss.job SET blocked = $3, policy = NULL FROM changed
  WHERE job.name = changed.name AND state < 'active' AND (policy IS NOT NULL OR blocked) <> $3`;
const ANNOUNCE = `
  WITH others AS (UPDATE receiver.handlers SET current = false WHERE current AND name <> ALL ($1))
  INSERT INTO receiver.handlers (name, types, keyed, current)
  SELECT name, CASE WHEN types <> '*' THEN string_to_array(types, chr(10)) END, keyed, true
  FROM unnest($1::text[], $2::text[], $3::boolean[]) AS announced(name, types, keyed)
  ON CONFLICT (name) DO UPDATE SET types = excluded.types, keyed = excluded.keyed, current = true`;
const IGNORE_GONE = `
  UPDATE boss.job SET state = 'cancelled', completed_on = now(), blocked = false, policy = NULL
  WHERE state < 'active' AND name IN (SELECT name FROM receiver.handlers WHERE NOT current)`;

/** Whether anybody wants an event of this type, and whether there is anybody at all. */
export const offerOf = (type: string): string => `
  CASE WHEN EXISTS (SELECT FROM receiver.handlers WHERE current AND (types IS NULL OR ${type} = ANY (types))) THEN 'offered'
    WHEN EXISTS (SELECT FROM receiver.handlers WHERE current) THEN 'unwanted' ELSE 'waiting' END`;

/**
 * One job for each handler that wants an event and has none of it. What had attempts before handlers had names goes on
 * from there.
 */
export const makeJobs = (events: string, { where = "true", data = "NULL::jsonb" } = {}): string => `
  INSERT INTO boss.job (id, name, state, priority, retry_count, started_on, start_after, created_on, data, output, blocked,
    retry_limit, expire_seconds, deletion_seconds, keep_until)
  SELECT ${jobId("event.seq")}, handlers.name, (CASE WHEN attempts > 0 THEN 'retry' ELSE 'created' END)::boss.job_state,
    (attempts > 0)::integer, greatest(attempts - 1, 0), CASE WHEN attempts > 0 THEN received_at END,
    coalesce(due_at, now()), received_at, ${data}, CASE WHEN last_error IS NOT NULL THEN jsonb_build_object('error', last_error) END,
    handlers.keyed, 2147483647, 2147483647, 0, 'infinity'
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

const LOCK_HANDLER = `SELECT 1 AS locked FROM receiver.handlers WHERE name = $1 FOR UPDATE SKIP LOCKED`;
const FIND_KEYLESS = `
  SELECT keyless.job, ${ID} AS id, type, body FROM (
    SELECT id AS job, ${eventSeq("id")} AS seq
    FROM boss.job WHERE name = $1 AND blocked AND state < 'active' ORDER BY id LIMIT 200) AS keyless
  JOIN receiver.events USING (seq)`;
/** pg-boss hands out one job of a key at a time, the oldest first, and what waits for a retry before it. */
const SET_KEYS = `
  UPDATE boss.job SET blocked = false, state = (CASE WHEN error IS NULL THEN 'created' ELSE 'failed' END)::boss.job_state,
    start_after = now(), policy = CASE WHEN error IS NULL THEN 'key_strict_fifo' END, singleton_key = key,
    completed_on = CASE WHEN error IS NOT NULL THEN now() END,
    output = CASE WHEN error IS NULL THEN output ELSE jsonb_build_object('error', error) END
  FROM json_to_recordset($2) AS keyed(job uuid, key text, error text)
  WHERE job.name = $1 AND job.id = keyed.job AND blocked AND state < 'active'`;

/** From an event to its jobs, where the intake couldn't make them: it knows names and types, and no keys. */
export type Offers = ReturnType<typeof createOffers>;

export function createOffers({ run, transaction }: Database, boss: Boss) {
  return {
    /** Makes known which handlers there are, from now on. */
    announce: async (handlers: readonly JobHandler[]): Promise<void> => {
      await boss.addQueues(handlers.map(({ name }) => name));
      for (const { name, key } of handlers) {
        await run(SET_POLICY, [name, key ? "key_strict_fifo" : "standard", key !== undefined]);
      }
      await run(ANNOUNCE, [
        handlers.map(({ name }) => name),
        handlers.map(({ types }) => (types === "*" ? types : types.join("\n"))),
        handlers.map(({ key }) => key !== undefined),
      ]);
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
     * Finds the keys of jobs, in the order of their events and one worker at a time, so that none is overtaken. Answers
     * those that died of it.
     */
    findKeys: async ({ name, key }: JobHandler): Promise<{ id: string; type: string; error: string }[]> =>
      transaction(async (_client, say) => {
        if ((await say(LOCK_HANDLER, [name])).length === 0) return [];
        const keyless = await say<Keyless>(FIND_KEYLESS, [name]);
        const keyed = keyless.map(({ body, ...event }) => ({ ...event, ...keyOf(body, key) }));
        await say(SET_KEYS, [name, JSON.stringify(keyed)]);
        return keyed.flatMap((one) => ("error" in one ? [one] : []));
      }),
  };
}

type Keyless = { job: string; id: string; type: string; body: Buffer };

/** Its hash: keys are phone numbers often, and of any length. */
function keyOf(body: Buffer, key: JobHandler["key"]): { key: string } | { error: string } {
  try {
    const text = key?.(body.toString("utf8")) ?? "";
    return { key: createHash("sha256").update(text).digest("hex") };
  } catch (error) {
    return { error: storable(`The handler's key failed: ${String(error)}`) };
  }
}
