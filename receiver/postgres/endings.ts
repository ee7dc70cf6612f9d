import type { Clock } from "../clock.ts";
import { endingOfCrash, writtenOf } from "../store/job-rules.ts";
import type { Ending, JobHandler } from "../store/port.ts";
import { json, together, type Query } from "./connection.ts";

/** The token of a claim is the moment at which it was made, to the microsecond. */
const END = `
  WITH ended AS MATERIALIZED (
    SELECT *, state <> 'waiting' AS over FROM json_to_recordset($1) AS ended(n integer, name text, id uuid, token timestamptz,
      beat timestamptz, state text, "delayMs" double precision, uncounted integer, output jsonb)
  ), updated AS (
    UPDATE receiver.job SET
      state = (CASE ended.state WHEN 'done' THEN 'completed' WHEN 'dead' THEN 'failed' ELSE 'retry' END)::receiver.job_state,
      start_after = clock_timestamp() + "delayMs" * interval '1 ms',
      -- Without it pg-boss does not count the attempt when it hands the job out again.
      started_on = CASE WHEN uncounted = 0 THEN job.started_on END,
      completed_on = CASE WHEN over THEN clock_timestamp() END,
      -- Without it a dead job holds back nobody.
      policy = CASE WHEN NOT over THEN job.policy END,
      output = ended.output
    FROM ended WHERE job.name = ended.name AND job.id = ended.id AND job.state = 'active' AND job.started_on = token
      AND (beat IS NULL OR job.heartbeat_on = beat)
    RETURNING ended.n, ended.state, job.id, job.name
  ), forgotten AS (
    DELETE FROM receiver.steps USING updated
    WHERE updated.state = 'done' AND steps.id = updated.id AND steps.handler = split_part(updated.name, '/', 1))
  SELECT n FROM updated`;
/** Also of the queue of another definition of these handlers: with a key, or without. */
const LIST_EXPIRED = `
  SELECT name, id, started_on::text AS token, heartbeat_on::text AS beat, retry_count + 1 AS attempt, output->>'errors' AS errors,
    split_part(name, '/', 1) AS handler
  FROM receiver.job WHERE state = 'active' AND heartbeat_on < now() - heartbeat_seconds * interval '1 s'`;

/** What a worker has in hand: a job, and which attempt it is. What is kept with a job in `output` has its errors. */
export type Claim = {
  name: string;
  id: string;
  token: string;
  beat?: string;
  attempt: number;
  errors: string | null;
};
type Ended = { claim: Claim; ending: Ending };

/** Writes down how attempts end. */
export function createEndings(run: Query, clock: Clock) {
  const writeTogether = together(async (all: readonly Ended[]) => write(run, all));

  return {
    write,
    /** Attempts that end while one statement is under way are written by the next, together. */
    end: async (ended: Ended): Promise<boolean> => {
      const { result, place } = await writeTogether(ended);
      return result.has(place);
    },
    /** Ends attempts of workers that died, of these handlers alone. */
    reap: async (handlers: readonly JobHandler[]): Promise<void> => {
      const expired = await run<Claim & { handler: string }>(LIST_EXPIRED);
      const endings = expired.flatMap(({ handler, ...claim }): Ended[] => {
        const policy = handlers.find(({ name }) => name === handler);
        return policy ? [{ claim, ending: endingOfCrash(claim.attempt, policy) }] : [];
      });
      if (endings.length > 0) await write(run, endings);
    },
  };

  /** Returns the places of those that were still held. */
  async function write(query: Query, all: readonly Ended[]): Promise<Set<number>> {
    const rows = await query<{ n: number }>(END, [json(all.map(rowOf))]);
    return new Set(rows.map(({ n }) => n));
  }

  function rowOf({ claim, ending }: Ended, n: number) {
    const { name, id, token, beat } = claim;
    const { errors, deferred, cause, ...written } = writtenOf(ending, claim, clock.nowMs());
    // Most jobs never fail, and keep nothing.
    const output = errors === null ? null : { errors, deferred, cause };
    return { n, name, id, token, beat, ...written, output };
  }
}
