import { LEASE_MS, type JobHandler } from "../../engine.ts";
import { fateOf, UNKNOWN_POLICY, VANISHED } from "../ending.ts";
import { executor, KEYED, SUSPECT, type Boss, type Fetched } from "./boss.ts";
import type { Database, Query } from "./connection.ts";
import { isHeld, NOT_SYNCED, settle, type ClaimedJob, type ClaimKey, type Settlement } from "./jobs.ts";
import type { Wanted } from "./share.ts";
import { eventSeq, ID, jobId, unixMs, uuidOf } from "./text.ts";

/** What there is to do: which queues have something due, and the work that one worker does for all. */
export type Look = {
  due: { handler: string; priority: number }[];
  /** Handlers with a key that have jobs without one, and handlers without a key that have jobs with one. */
  misfits: string[];
  /** How long until a handler whose rate is used up may begin another attempt. */
  limitedMs: number | null;
  waiting: boolean;
  expired: boolean;
  gone: boolean;
};

/** Attempts of a handler that began within its rate's time, which is `perMs`: a row each. */
const recentStarts = (perMs: string): string => `
  unnest(starts) AS at WHERE at > clock_timestamp() - ${perMs} * interval '1 ms'`;

/** Whether such a job waits. Not by EXISTS: its plan may read every job that waits, each time that somebody looks. */
const isWaiting = (jobs: string): string =>
  `(SELECT true FROM boss.job WHERE ${jobs} AND state < 'active' AND NOT blocked LIMIT 1)`;

/** A handler that has a key here, but none where it was announced last (or the other way round), is left to other workers. */
const LOOK = `
  WITH own AS (
    SELECT name, CASE WHEN has_key THEN ${String(KEYED)} ELSE 0 END AS least, recent >= "limit" AS is_limited, oldest + "perMs" * interval '1 ms' AS until
    FROM json_to_recordset($1) AS own(name text, has_key boolean, "limit" integer, "perMs" double precision)
    JOIN receiver.handlers USING (name, has_key)
    CROSS JOIN LATERAL (SELECT count(*) AS recent, min(at) AS oldest FROM ${recentStarts('"perMs"')}) AS started)
  SELECT
    (SELECT coalesce(json_agg(json_build_object('handler', name, 'priority', kind)), '[]')
      FROM own, generate_series(0, ${String(SUSPECT)}) AS kind
      WHERE is_limited IS NOT TRUE
        AND ${isWaiting("job.name = own.name AND job.priority = least + kind AND start_after <= now()")}) AS due,
    ARRAY(SELECT name FROM own WHERE ${isWaiting(
      `job.name = own.name AND priority BETWEEN ${String(KEYED)} - least AND ${String(KEYED + SUSPECT)} - least`,
    )}) AS misfits,
    (SELECT ceil(extract(epoch FROM min(until) - clock_timestamp()) * 1000)::integer FROM own WHERE is_limited) AS "limitedMs",
    EXISTS (SELECT FROM receiver.events WHERE offer = 'waiting') AS waiting,
    EXISTS (SELECT FROM receiver.workers WHERE lease_until < clock_timestamp() AND id <> $2) AS expired,
    EXISTS (SELECT FROM receiver.handlers WHERE NOT current AND ${isWaiting("job.name = handlers.name")}) AS gone`;

/** Locks the handler's row, so that one worker at a time counts its starts. */
const LOCK_STARTS = `
  SELECT (SELECT count(*) FROM ${recentStarts("$2")}) AS recent
  FROM (SELECT starts FROM receiver.handlers WHERE name = $1 FOR UPDATE) AS locked`;
const ADD_STARTS = `
  UPDATE receiver.handlers SET starts =
    ARRAY(SELECT at FROM ${recentStarts("$2")}) || array_fill(clock_timestamp(), ARRAY[$3::integer]) WHERE name = $1`;

/** A claim ends with the event that reaches this: hundreds of large ones would take more memory than handlers may. */
const MOST_BYTES = 8_388_608;

/**
 * Writes down what the worker holds from now on, and answers what is new of that, with its events. The token of a claim is
 * the moment at which its transaction began, which pg-boss writes to each job that it hands out.
 */
export const HOLD = `
  WITH claimed AS MATERIALIZED (
    SELECT n, name AS handler, id AS job, now()::text AS token, "retryCount" + 1 AS attempt,
      priority % ${String(KEYED)} = ${String(SUSPECT)} AS suspect, (data->>'requeuedAtMs')::bigint AS requeued
    FROM json_to_recordset($3) AS fetched(n integer, id uuid, name text, "retryCount" integer, priority integer, data json)
  ), worker AS (
    UPDATE receiver.workers SET held = $2::jsonb || (
      SELECT jsonb_agg(jsonb_build_object('handler', handler, 'job', job, 'token', token)) FROM claimed)
    WHERE id = $1 RETURNING 1)
  SELECT handler, job, token, attempt, suspect, seq, ${ID} AS id, type, trace,
    CASE WHEN sum(octet_length(body)) OVER (ORDER BY n) - octet_length(body) < ${String(MOST_BYTES)} THEN body END AS body,
    ${unixMs("received_at")} AS "receivedAtMs", coalesce(requeued, ${unixMs("received_at")}) AS "waitingSinceMs"
  FROM worker, claimed JOIN receiver.events ON seq = ${eventSeq("job")}
  -- The join says the same. But by the join alone, a plan that was made while there were few events reads all of them.
  WHERE seq = ANY (ARRAY(SELECT ${eventSeq("job")} FROM claimed)) ORDER BY n`;
const CLAIM_ONLY = `
  UPDATE boss.job SET state = 'active', started_on = now(), retry_count = retry_count + (started_on IS NOT NULL)::integer
  WHERE name = $1 AND id = (SELECT ${jobId("ids.seq")} FROM receiver.ids WHERE ids.id = $2) AND state < 'active'
    AND (SELECT true FROM boss.job AS other WHERE other.name = $1 AND other.singleton_key = job.singleton_key AND other.id <> job.id
      AND other.policy = 'key_strict_fifo' AND job.policy IS NOT NULL AND other.state IN ('active', 'retry') LIMIT 1) IS NULL
  RETURNING id, name, retry_count AS "retryCount", 0 AS priority, data`;

/**
 * Besides, says that this worker's handlers are still there, and ends those that no worker has said this of for ten
 * minutes. Never waits for who has one of them in hand: a lease is more urgent.
 */
const KEEP = `
  WITH ${NOT_SYNCED}, seen AS (
    UPDATE receiver.handlers SET seen = now(), current = name = ANY ($3) WHERE name = ANY (ARRAY(
      SELECT name FROM receiver.handlers
      WHERE seen < now() - interval '1 minute' AND (name = ANY ($3) OR current AND seen < now() - interval '10 minutes')
      FOR UPDATE SKIP LOCKED)))
  INSERT INTO receiver.workers AS worker (id, lease_until)
  SELECT $1, clock_timestamp() + $2 * interval '1 ms' FROM settings
  ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until RETURNING worker.held`;
const RESIGN = `DELETE FROM receiver.workers WHERE id = $1`;
/** Forgets who is gone, and answers what each of them held. */
const FORGET_GONE = `
  DELETE FROM receiver.workers WHERE id = ANY (ARRAY(
    SELECT id FROM receiver.workers WHERE (lease_until < clock_timestamp() OR id = ANY ($2)) AND id <> $1
    FOR UPDATE SKIP LOCKED))
  RETURNING id, held`;
/** A statement of its own, since the one before does not see what they claimed while it waited for their rows. */
const FIND_LEFT = `
  SELECT name AS handler, job.id AS job, held.token, retry_count + 1 AS attempt,
    count(*) OVER (PARTITION BY gone.id) = 1 AS alone, CASE WHEN gone.id = ANY ($2) THEN 'crashed' ELSE 'expired' END AS why
  FROM jsonb_to_recordset($1) AS gone(id text, held jsonb)
  CROSS JOIN LATERAL jsonb_to_recordset(gone.held) AS held(handler text, job uuid, token text)
  JOIN boss.job ON job.name = held.handler AND job.id = held.job AND ${isHeld("held.token::timestamptz")}
  WHERE job.name = ANY (ARRAY(SELECT name FROM receiver.handlers))
    AND job.id = ANY ($3::uuid[])`;

export type Claims = ReturnType<typeof createClaims>;

/** What is due, how it is claimed, and which workers live: each has one row, with what it holds. */
export function createClaims({ run, transaction }: Database, boss: Boss) {
  return {
    look: async (worker: string, handlers: readonly JobHandler[]): Promise<Look> => {
      const own = handlers.map(({ name, key, rateLimit }) => {
        return { name, has_key: key !== undefined, ...rateLimit };
      });
      const [row] = await run<Look>(LOOK, [JSON.stringify(own), worker]);
      if (!row) throw new Error("PostgreSQL answered nothing about what is due.");
      return row;
    },

    /** Claims what is wanted, as far as rates allow, with its events; `held` is all that the worker knows it has. */
    claim: async (
      worker: string,
      held: readonly ClaimKey[],
      wanted: readonly Wanted[],
    ): Promise<ClaimedJob[]> =>
      transaction(async (client, query) => {
        const fetch = async ({ handler, priority, limit }: Wanted): Promise<Fetched[]> => {
          const stored = priority + (handler.key ? KEYED : 0);
          return boss.fetch<Fetched["data"]>(handler.name, {
            batchSize: limit,
            includeMetadata: true,
            minPriority: stored,
            maxPriority: stored,
            db: executor(client),
          });
        };
        const fetchLimited = async (one: Wanted, { limit, perMs }: RateLimit): Promise<Fetched[]> => {
          const { name } = one.handler;
          const [started] = await query<{ recent: number }>(LOCK_STARTS, [name, perMs]);
          const free = limit - (started?.recent ?? 0);
          const fetched = free > 0 ? await fetch({ ...one, limit: Math.min(one.limit, free) }) : [];
          if (fetched.length > 0) await query(ADD_STARTS, [name, perMs, fetched.length]);
          return fetched;
        };
        const claimed: Fetched[] = [];
        // In one order for all workers, which wait for each other where starts are counted.
        const inOrder = wanted.toSorted((a, b) => (a.handler.name < b.handler.name ? -1 : 1));
        for (const one of inOrder)
          if (one.handler.rateLimit) claimed.push(...(await fetchLimited(one, one.handler.rateLimit)));
        const unlimited = wanted.filter(({ handler }) => handler.rateLimit === undefined);
        claimed.push(...(await Promise.all(unlimited.map(fetch))).flat());
        return hold(query, worker, held, claimed);
      }),

    /** One job of an event, also before it is due. */
    claimOnly: async (worker: string, handler: string, eventId: string): Promise<ClaimedJob[]> =>
      transaction(async (_client, query) =>
        hold(query, worker, [], await query<Fetched>(CLAIM_ONLY, [handler, uuidOf(eventId)])),
      ),

    /**
     * Extends the lease from now on, or begins it: a claim counts for nothing without one. Answers the claims that the
     * database has for this worker: none once another took it for gone.
     */
    keep: async (worker: string, handlers: readonly JobHandler[]): Promise<ClaimKey[]> => {
      const names = handlers.map(({ name }) => name);
      return (await run<{ held: ClaimKey[] }>(KEEP, [worker, LEASE_MS, names]))[0]?.held ?? [];
    },

    resign: async (worker: string): Promise<void> => void (await run(RESIGN, [worker])),

    /** Takes back what workers held whose lease is over, or that are certainly gone. */
    takeOver: async (self: string, gone: readonly string[], handlers: readonly JobHandler[]): Promise<void> =>
      transaction(async (_client, query) => {
        const forgotten = await query<{ held: ClaimKey[] }>(FORGET_GONE, [self, gone]);
        const held = forgotten.flatMap((one) => one.held.map(({ job }) => job));
        const left = await query<Left>(FIND_LEFT, [JSON.stringify(forgotten), gone, held]);
        const settlements = left.map((one) => afterCrash(one, handlers));
        await settle(query, settlements);
      }),
  };
}

type RateLimit = NonNullable<JobHandler["rateLimit"]>;

/** Writes down what the worker holds from now on. Throws where its lease was lost, which gives back what was fetched. */
async function hold(
  query: Query,
  worker: string,
  held: readonly ClaimKey[],
  fetched: readonly Fetched[],
): Promise<ClaimedJob[]> {
  if (fetched.length === 0) return [];
  const claimed = fetched.map(({ id, name, retryCount, priority, data }, n) => {
    return { n, id, name, retryCount, priority, data };
  });
  const values = [worker, JSON.stringify(held), JSON.stringify(claimed)];
  const rows = await query<Omit<ClaimedJob, "body"> & { body: Buffer | null }>(HOLD, values);
  if (rows.length === 0) throw new NoLease();
  const beyond = rows.flatMap((job) => (job.body ? [] : [{ ...job, state: "returned" as const }]));
  await settle(query, beyond);
  return rows.flatMap(({ body, ...job }) => (body ? [{ ...job, body: body.toString("utf8") }] : []));
}

/** Another worker took this one for gone, since it had extended its lease too late. */
export class NoLease extends Error {
  override readonly name = "NoLease";
}

type Left = ClaimKey & { attempt: number; alone: boolean; why: "crashed" | "expired" };

function afterCrash({ attempt, alone, why, ...claim }: Left, handlers: readonly JobHandler[]): Settlement {
  const policy = handlers.find(({ name }) => name === claim.handler) ?? UNKNOWN_POLICY;
  const { state, attempts, delayMs } = fateOf({ attempts: attempt, alone, why }, policy);
  return { ...claim, state, delayMs, uncounted: attempts < attempt, error: VANISHED };
}
