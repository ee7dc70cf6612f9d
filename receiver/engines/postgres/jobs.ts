import { LeaseLost, type Steps } from "../../engine.ts";
import { KINDS, type Kind } from "./boss.ts";
import { sqlState, type Database, type Say } from "./connection.ts";
import { storable } from "./text.ts";

/** A claimed job with its event. `token` proves the claim. */
export type ClaimedJob = {
  job: string;
  token: string;
  handler: string;
  kind: Kind;
  attempt: number;
  id: string;
  type: string;
  seq: number;
  receivedAtMs: number;
  waitingSinceMs: number;
  body: Buffer;
  trace: object | null;
};

/** Which claim, for whoever has to prove it. */
export type ClaimKey = Pick<ClaimedJob, "handler" | "job" | "token">;

/** How a claim ends; `uncounted` when the attempt was none. What is said of the job stays without `output`. */
export type Settlement = ClaimKey & {
  state: "completed" | "retry" | "failed";
  kind?: Kind;
  delayMs?: number;
  uncounted?: boolean;
  output?: { error: string | null; deferred?: boolean };
};

/** Losing what isn't synced yet means that a job is handed out or settled once more, never that one is lost. */
export const NOT_SYNCED = `settings AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))`;
/**
 * Of a claim that is found by its key. Not `state = 'active'`, for which the index of what is claimed would do: it looks
 * small when statements are planned, and is full of what has ended since.
 */
export const isHeld = (token: string): string => `job.state::text = 'active' AND job.started_on = ${token}`;
export const SETTLE = `
  WITH ${NOT_SYNCED}, ended AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1) AS ended(handler text, job uuid, token timestamptz, state boss.job_state,
      priority integer, "delayMs" double precision, uncounted boolean, "keepOutput" boolean, output jsonb))
  UPDATE boss.job SET
    state = ended.state, priority = coalesce(ended.priority, job.priority),
    start_after = clock_timestamp() + coalesce(ended."delayMs", 0) * interval '1 ms',
    -- So pg-boss doesn't count the attempt when it hands the job out again.
    started_on = CASE WHEN NOT uncounted THEN job.started_on END,
    completed_on = CASE WHEN ended.state > 'active' THEN clock_timestamp() END,
    -- A dead one holds back nobody of its key.
    policy = CASE WHEN ended.state < 'active' THEN job.policy END,
    output = CASE WHEN "keepOutput" THEN job.output ELSE ended.output END
  FROM settings, ended
  WHERE job.name = ended.handler AND job.id = ended.job AND ${isHeld("ended.token")}
  RETURNING job.name AS handler, job.id AS job`;

/**
 * The last statement of a handler's transaction. It divides by the rows that it changed: a claim that was lost fails it,
 * and with it the transaction.
 */
export const COMPLETE = `
  WITH completed AS (
    UPDATE boss.job SET state = 'completed', completed_on = clock_timestamp(), output = NULL
    WHERE name = $1 AND id = $2 AND ${isHeld("$3")} RETURNING 1)
  SELECT FROM completed HAVING 1 / count(*) = 0`;
const DIVISION_BY_ZERO = "22012";
const IS_COMPLETED = `
  SELECT state = 'completed' AND started_on = $3 AS completed FROM boss.job WHERE name = $1 AND id = $2`;

const FIND_STEP = `SELECT result FROM receiver.steps WHERE handler = $1 AND seq = $2 AND name = $3`;
const RECORD_STEP = `
  WITH held AS (SELECT FROM boss.job WHERE name = $1 AND id = $4 AND ${isHeld("$5")} FOR UPDATE)
  INSERT INTO receiver.steps (handler, seq, name, result) SELECT $1, $2, $3, $6 FROM held
  ON CONFLICT (handler, seq, name) DO UPDATE SET result = excluded.result RETURNING 1`;

export type Jobs = ReturnType<typeof createJobs>;

/** The verbs of a job's life. `held` are all claims that the worker knows it has. */
export function createJobs({ run }: Database) {
  return {
    /** Answers the claims that were still held; of the others nothing was changed. */
    settle: async (settlements: readonly Settlement[]): Promise<Set<string>> => settle(run, settlements),

    /** Whether the transaction that was to complete this claim was committed, when its answer was lost. */
    isCompleted: async ({ handler, job, token }: ClaimKey): Promise<boolean> =>
      (await run<{ completed: boolean }>(IS_COMPLETED, [handler, job, token]))[0]?.completed === true,

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

export async function settle(say: Say, settlements: readonly Settlement[]): Promise<Set<string>> {
  if (settlements.length === 0) return new Set();
  const given = settlements.map(({ kind, output, uncounted = false, ...ending }) => ({
    ...ending,
    uncounted,
    ...(kind === undefined ? {} : { priority: KINDS[kind] }),
    keepOutput: output === undefined,
    output: output?.error == null ? null : { ...output, error: storable(output.error) },
  }));
  return new Set((await say<ClaimKey>(SETTLE, [JSON.stringify(given)])).map(nameOf));
}

/** Of a claim among those of one worker. */
export function nameOf({ handler, job }: Omit<ClaimKey, "token">): string {
  return `${job} ${handler}`;
}

/** Whether that is what `COMPLETE` failed with because somebody else has the job. */
export function isLostClaim(error: unknown): boolean {
  return sqlState(error) === DIVISION_BY_ZERO;
}
