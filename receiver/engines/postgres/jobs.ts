import { LeaseLost, type Steps } from "../../engine.ts";
import type { Ending } from "../ending.ts";
import type { Job } from "../loop.ts";
import { KEYED, RETRY, SUSPECT } from "./boss.ts";
import type { Database, Query } from "./connection.ts";
import { storable } from "./text.ts";

/** Which claim, for whoever has to prove it: `token` is the moment at which it was made, to the microsecond. */
export type ClaimKey = { handler: string; job: string; token: string };

/** A claimed job with its event. */
export type ClaimedJob = ClaimKey & Job & { seq: number };

/** How a claim ends: `suspect` when its worker vanished, `returned` as it was. `uncounted` when the attempt doesn't count. */
export type Settlement = ClaimKey &
  Partial<Omit<Ending, "state">> & { state: Ending["state"] | "suspect" | "returned"; uncounted?: boolean };

/** Not synced: a crash of the server can undo a claim or an ending, and the job is handed out once more, never lost. */
export const NOT_SYNCED = `settings AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))`;
/**
 * Whether a claim is still held, of a job that is found by its key. One comparison that fits no index: PostgreSQL would
 * choose that of claimed jobs, which is small when it plans, or expect so few jobs that it compares each with each.
 */
export const isHeld = (token: string): string =>
  `CASE WHEN job.state = 'active' THEN job.started_on END = ${token}`;
export const SETTLE = `
  WITH ${NOT_SYNCED}, ended AS MATERIALIZED (
    SELECT *, state IN ('done', 'dead') AS over FROM json_to_recordset($1) AS ended(n integer, handler text, job uuid,
      token timestamptz, state text, "delayMs" double precision, uncounted boolean, output jsonb))
  UPDATE boss.job SET
    state = (CASE ended.state WHEN 'done' THEN 'completed' WHEN 'dead' THEN 'failed' ELSE 'retry' END)::boss.job_state,
    -- A suspect that ended in any ordinary way is none any more.
    priority = priority - priority % ${String(KEYED)} + CASE ended.state
      WHEN 'pending' THEN ${String(RETRY)} WHEN 'suspect' THEN ${String(SUSPECT)} ELSE priority % ${String(KEYED)} END,
    start_after = clock_timestamp() + "delayMs" * interval '1 ms',
    -- Without it, pg-boss does not count the attempt when it hands the job out again.
    started_on = CASE WHEN NOT uncounted THEN job.started_on END,
    completed_on = CASE WHEN over THEN clock_timestamp() END,
    -- Without a policy, a dead job does not hold back others with its key.
    policy = CASE WHEN NOT over THEN job.policy END,
    output = CASE WHEN ended.state = 'returned' THEN job.output ELSE ended.output END
  FROM settings, ended
  WHERE job.name = ended.handler AND job.id = ended.job AND ${isHeld("ended.token")}
    -- The join says the same. But by the join alone, a plan that was made while there were few jobs reads all of them.
    AND job.name = ANY (ARRAY(SELECT handler FROM ended)) AND job.id = ANY (ARRAY(SELECT job FROM ended))
  RETURNING ended.n`;

/**
 * The last statement of a handler's transaction. It divides by the rows that it changed: a claim that was lost fails it,
 * and with it the transaction.
 */
export const COMPLETE = `
  WITH completed AS (
    UPDATE boss.job SET state = 'completed', completed_on = clock_timestamp(), output = NULL
    WHERE name = $1 AND id = $2 AND ${isHeld("$3")} RETURNING 1)
  SELECT FROM completed HAVING 1 / count(*) = 0`;
/** The error of a division by zero, by which a lost claim is told. */
export const DIVISION_BY_ZERO = "22012";
const IS_COMPLETED = `
  SELECT FROM boss.job WHERE name = $1 AND id = $2 AND state = 'completed' AND started_on = $3`;

const FIND_STEP = `SELECT result FROM receiver.steps WHERE handler = $1 AND seq = $2 AND name = $3`;
const RECORD_STEP = `
  WITH held AS (SELECT FROM boss.job WHERE name = $1 AND id = $4 AND ${isHeld("$5")} FOR UPDATE)
  INSERT INTO receiver.steps (handler, seq, name, result) SELECT $1, $2, $3, $6 FROM held
  ON CONFLICT (handler, seq, name) DO UPDATE SET result = excluded.result RETURNING 1`;

export type Jobs = ReturnType<typeof createJobs>;

/** What a claim allows: to end it, and to record steps until then. */
export function createJobs({ run }: Database) {
  let waiting: Settlement[] = [];
  let next: Promise<Set<number>> | undefined;
  let settling: Promise<unknown> = Promise.resolve();

  async function settleWaiting(): Promise<Set<number>> {
    const batch = waiting;
    [waiting, next] = [[], undefined];
    return settle(run, batch);
  }

  return {
    /**
     * Writes down how a claim ends. Answers whether it was still held; otherwise nothing was changed. Claims that end while
     * one statement is on its way are written down by the next, together.
     */
    settle: async (settlement: Settlement): Promise<boolean> => {
      const place = waiting.push(settlement) - 1;
      if (!next) {
        next = settling.then(settleWaiting);
        settling = next.catch(() => undefined);
      }
      return (await next).has(place);
    },

    /** Whether the transaction that was to complete this claim was committed, when its answer was lost. */
    isCompleted: async ({ handler, job, token }: ClaimKey): Promise<boolean> =>
      (await run(IS_COMPLETED, [handler, job, token])).length > 0,

    steps: ({ handler, seq, job, token, id }: ClaimedJob): Steps => ({
      find: async (name) =>
        (await run<{ result: string }>(FIND_STEP, [handler, seq, storable(name)]))[0]?.result,
      record: async (name, json) => {
        const rows = await run(RECORD_STEP, [handler, seq, storable(name), job, token, storable(json)]);
        if (rows.length === 0) throw new LeaseLost(id);
      },
    }),
  };
}

/** Answers which of these claims, by their place, were still held. */
export async function settle(query: Query, settlements: readonly Settlement[]): Promise<Set<number>> {
  if (settlements.length === 0) return new Set();
  const given = settlements.map(({ error, delayMs = 0, deferred = false, uncounted, ...ending }, n) => ({
    ...ending,
    n,
    delayMs,
    uncounted: uncounted ?? (deferred || ending.state === "returned"),
    output: error == null ? null : { error: storable(error), ...(deferred ? { deferred } : {}) },
  }));
  return new Set((await query<{ n: number }>(SETTLE, [JSON.stringify(given)])).map(({ n }) => n));
}

export const keyOf = ({ handler, job, token }: ClaimKey): ClaimKey => ({ handler, job, token });

/** Tells claims of one worker apart, also where it lost a job and claimed it again. */
export const nameOf = ({ handler, job, token }: ClaimKey): string => `${token} ${job} ${handler}`;
