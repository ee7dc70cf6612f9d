import { LEASE_MS, type RetryPolicy } from "../../engine.ts";
import { crashBackoffsMs } from "../after-crash.ts";
import type { Ending } from "../ending.ts";
import { retryingConflicts, sqlState, type Pool, type Prepare } from "./connection.ts";
import { JOBS_SCHEMA } from "./schema.ts";
import { ID, milliseconds, storable } from "./text.ts";

/** A claimed event, and what proves it: the token is the claim's own. */
export type ClaimedEvent = {
  seq: number;
  token: number;
  id: string;
  type: string;
  attempts: number;
  receivedAtMs: number;
  body: Buffer;
};

/** How a claim ends; `uncounted` when the attempt was none, since its worker shuts down. */
export type Settlement = Ending & { seq: number; token: number; uncounted?: boolean };

/** Losing what isn't synced yet means that an event is handed out or settled once more, never that one is lost. */
const NOT_SYNCED = `settings AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))`;

const NEW = `SELECT seq FROM receiver.events WHERE state = 'pending' AND due_at IS NULL ORDER BY seq`;
const RETRIES = `
  SELECT seq FROM receiver.events
  WHERE state = 'pending' AND crashes = 0 AND due_at IS NOT NULL AND due_at <= clock_timestamp() ORDER BY due_at`;
const SUSPECTS = `
  SELECT seq FROM receiver.events
  WHERE state = 'pending' AND crashes > 0 AND due_at IS NOT NULL AND due_at <= clock_timestamp() ORDER BY due_at`;

/** Half of what is claimed is of one kind, if there is that much, and what is left is of the other. */
const claimInTurn = (first: string, second: string): string => `
  WITH ${NOT_SYNCED},
  firsts AS MATERIALIZED (${first} LIMIT ($2::integer + 1) / 2 FOR UPDATE SKIP LOCKED),
  seconds AS MATERIALIZED (${second} LIMIT $2::integer - (SELECT count(*) FROM firsts) FOR UPDATE SKIP LOCKED)
  ${CLAIM("SELECT seq FROM firsts UNION ALL SELECT seq FROM seconds")}`;

const CLAIM = (chosen: string): string => `
  UPDATE receiver.events SET state = 'claimed', attempts = attempts + 1, token = token + 1, worker = $1
  FROM settings WHERE seq = ANY (ARRAY(${chosen}))
  RETURNING seq, token, ${ID} AS id, type, attempts, ${milliseconds("received_at")} AS "receivedAtMs", body`;

const CLAIM_RETRIES_FIRST = claimInTurn(RETRIES, NEW);
const CLAIM_NEW_FIRST = claimInTurn(NEW, RETRIES);
const CLAIM_SUSPECT = `
  WITH ${NOT_SYNCED}, suspects AS MATERIALIZED (${SUSPECTS} LIMIT 1 FOR UPDATE SKIP LOCKED)
  ${CLAIM("SELECT seq FROM suspects")}`;

/**
 * Of events that are found by their seq. Not `state = 'claimed'`, for which the index of what is claimed would do: it looks
 * small when statements are planned, and is full of what has ended since.
 */
const HELD_BY = (worker: string): string => `events.state || '' = 'claimed' AND worker = ${worker}`;

export const SETTLE = `
  WITH ${NOT_SYNCED}, ended AS MATERIALIZED (
    SELECT * FROM json_to_recordset($2) AS ended(
      seq bigint, token integer, state text, error text, "delayMs" double precision, uncounted boolean)
  )
  UPDATE receiver.events SET
    state = ended.state,
    due_at = clock_timestamp() + ended."delayMs" * interval '1 ms',
    attempts = attempts - (ended.uncounted)::integer,
    handled = handled + (ended.state = 'done')::integer,
    finished_at = CASE WHEN ended.state <> 'pending' THEN clock_timestamp() END,
    last_error = ended.error, worker = NULL
  FROM settings, ended
  WHERE events.seq = ANY (ARRAY(SELECT seq FROM ended)) AND events.seq = ended.seq AND events.token = ended.token
    AND ${HELD_BY("$1")}
  RETURNING events.seq`;

/**
 * The last statement of a handler's transaction. It divides by the rows that it changed: a claim that was lost fails it,
 * and with it the transaction.
 */
export const COMPLETE = `
  WITH completed AS (
    UPDATE receiver.events SET state = 'done', handled = handled + 1, finished_at = clock_timestamp(),
      due_at = NULL, last_error = NULL, worker = NULL
    WHERE seq = $1 AND token = $2 AND ${HELD_BY("$3")} RETURNING 1)
  SELECT FROM completed HAVING 1 / count(*) = 0`;
const DIVISION_BY_ZERO = "22012";
const IS_COMPLETED = `SELECT state = 'done' AND token = $2 AS completed FROM receiver.events WHERE seq = $1`;

const VANISH = `
  state = CASE WHEN attempts >= $2 THEN 'dead' ELSE 'pending' END,
  finished_at = CASE WHEN attempts >= $2 THEN clock_timestamp() END,
  crashes = crashes + 1, worker = NULL, last_error = 'The worker vanished while it handled this event.'`;
const RELEASE = `
  UPDATE receiver.events SET ${VANISH},
    due_at = clock_timestamp() + ($3::double precision[])[least(attempts, $2)] * interval '1 ms'
  WHERE state = 'claimed' AND worker = $1 RETURNING seq`;
const FIND_OTHERS = `SELECT id FROM receiver.workers WHERE id <> $1`;
const EXPIRE = `
  WITH gone AS MATERIALIZED (
    DELETE FROM receiver.workers WHERE id = ANY (ARRAY(
      SELECT id FROM receiver.workers
      WHERE (lease_until < clock_timestamp() OR id = ANY ($3)) AND id <> $1 FOR UPDATE SKIP LOCKED))
    RETURNING id, pool
  ), unlocked AS MATERIALIZED (
    SELECT ${JOBS_SCHEMA}.force_unlock_workers(array_agg(pool)) FROM gone HAVING count(*) > 0
  )
  UPDATE receiver.events SET ${VANISH}, due_at = clock_timestamp()
  WHERE state = 'claimed' AND (
    worker = ANY (ARRAY(SELECT id FROM gone LEFT JOIN unlocked ON true))
    OR NOT EXISTS (SELECT FROM receiver.workers WHERE workers.id = events.worker))
  RETURNING seq`;

const REGISTER = `
  INSERT INTO receiver.workers VALUES ($1, $2, clock_timestamp() + $3 * interval '1 ms')
  ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until, pool = excluded.pool`;
/** Also puts back what this worker holds without knowing: an answer that was lost on its way, or a commit in a crash. */
const EXTEND = `
  WITH strays AS (
    UPDATE receiver.events SET state = 'pending', due_at = clock_timestamp(), attempts = attempts - 1, worker = NULL
    WHERE state = 'claimed' AND worker = $1 AND seq <> ALL ($4::bigint[]))
  UPDATE receiver.workers SET pool = $2, lease_until = clock_timestamp() + $3 * interval '1 ms' WHERE id = $1 RETURNING id`;
const RESIGN = `DELETE FROM receiver.workers WHERE id = $1 RETURNING id`;

export type Claims = ReturnType<typeof createClaims>;

/** The verbs of a claim's life, one statement each. */
export function createClaims(pool: Pool, prepare: Prepare, retry: RetryPolicy) {
  const run = async <Row extends object>(text: string, values: unknown[]): Promise<Row[]> =>
    retryingConflicts(async () => (await pool.query<Row>(prepare(text, values))).rows);

  return {
    /** Before anything is claimed: a claim counts for nothing without a lease. */
    register: async (worker: string, jobsPool: string): Promise<void> => {
      await run(REGISTER, [worker, jobsPool, LEASE_MS]);
    },

    /** Makes the lease last from now on. False when it was lost; `held` are the events that the worker knows it holds. */
    extend: async (worker: string, jobsPool: string, held: readonly number[]): Promise<boolean> =>
      (await run(EXTEND, [worker, jobsPool, LEASE_MS, held])).length > 0,

    resign: async (worker: string): Promise<void> => {
      await run(RESIGN, [worker]);
    },

    claim: async (worker: string, limit: number, first: "new" | "retries"): Promise<ClaimedEvent[]> =>
      run<ClaimedEvent>(first === "new" ? CLAIM_NEW_FIRST : CLAIM_RETRIES_FIRST, [worker, limit]),

    /** An event whose worker vanished: it may have been the reason. */
    claimSuspect: async (worker: string): Promise<ClaimedEvent | undefined> =>
      (await run<ClaimedEvent>(CLAIM_SUSPECT, [worker]))[0],

    /** Answers the events whose claims were still held; of the others nothing was changed. */
    settle: async (worker: string, settlements: readonly Settlement[]): Promise<Set<number>> => {
      const given = settlements.map(({ error, uncounted = false, ...ending }) => ({
        ...ending,
        uncounted,
        error: error === null ? null : storable(error),
      }));
      const rows = await run<{ seq: number }>(SETTLE, [worker, JSON.stringify(given)]);
      return new Set(rows.map(({ seq }) => seq));
    },

    /**
     * Takes back what the dead held: those whose lease is over, those that are certainly gone, and those that nobody
     * knows.
     */
    expire: async (self: string, isGone?: (worker: string) => boolean): Promise<number> => {
      const others = isGone ? await run<{ id: string }>(FIND_OTHERS, [self]) : [];
      const gone = others.map(({ id }) => id).filter((id) => isGone?.(id));
      return (await run(EXPIRE, [self, retry.maximumAttempts, gone])).length;
    },

    /** The same for a worker that is known to be dead; its events wait for their backoff. */
    release: async (worker: string): Promise<number> => {
      await run(RESIGN, [worker]);
      return (await run(RELEASE, [worker, retry.maximumAttempts, crashBackoffsMs(retry)])).length;
    },

    /** Whether the transaction that was to complete this claim was committed, when its answer was lost. */
    isCompleted: async ({ seq, token }: ClaimedEvent): Promise<boolean> =>
      (await run<{ completed: boolean }>(IS_COMPLETED, [seq, token]))[0]?.completed === true,
  };
}

/** Whether that is what `COMPLETE` failed with because somebody else has the event. */
export function isLostClaim(error: unknown): boolean {
  return sqlState(error) === DIVISION_BY_ZERO;
}
