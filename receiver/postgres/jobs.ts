import type { PoolClient } from "pg";
import type { PgBoss } from "pg-boss";
import type { Clock } from "../clock.ts";
import { endingOfCrash, writtenOf } from "../store/job-rules.ts";
import { JobLost, type Ending, type Job, type JobHandler, type Jobs } from "../store/port.ts";
import { codeOf, json, together, type Database, type Query } from "./connection.ts";
import { useTransaction } from "./handler-sql.ts";
import { hexOf } from "./intake.ts";
import { unixMs } from "./views.ts";

/** Which of these queues have due jobs. Most polls find none, and need one statement for all queues. */
const LOOK = `
  SELECT name FROM unnest($1::text[]) AS queues(name), LATERAL (
    SELECT FROM receiver.job_common AS job WHERE job.name = queues.name AND state < 'active' AND NOT blocked AND start_after <= now() LIMIT 1) AS due`;
/** pg-boss's own statement, with the fields of the events that a worker needs. */
const claimWith = (fetch: string): string => `
  WITH claimed AS (${fetch})
  SELECT claimed.name, id, "startedOn"::text AS token, "retryCount" + 1 AS attempt, output->>'errors' AS errors, type, convert_from(body, 'UTF8') AS body,
    'evt_' || replace(id::text, '-', '') AS event, ${unixMs("received_at")} AS "receivedAtMs",
    coalesce((data->>'since')::bigint, ${unixMs("received_at")}) AS "waitingSinceMs"
  FROM claimed JOIN receiver.events USING (id) ORDER BY "createdOn"`;
/** The token of a claim is its time, to the microsecond. */
const END = `
  WITH ended AS MATERIALIZED (
    SELECT *, state <> 'waiting' AS over FROM json_to_recordset($1) AS ended(n integer, name text, id uuid, token timestamptz,
      beat timestamptz, state text, "delayMs" double precision, uncounted integer, output jsonb)
  ), updated AS (
    UPDATE receiver.job_common AS job SET
      state = (CASE ended.state WHEN 'done' THEN 'completed' WHEN 'dead' THEN 'failed' ELSE 'retry' END)::receiver.job_state,
      start_after = clock_timestamp() + "delayMs" * interval '1 ms',
      -- Without it pg-boss does not count the attempt when the job is claimed again.
      started_on = CASE WHEN uncounted = 0 THEN job.started_on END, retry_count = job.retry_count - greatest(uncounted - 1, 0),
      completed_on = CASE WHEN over THEN clock_timestamp() END,
      -- With it a dead job would hold back the jobs behind it.
      policy = CASE WHEN NOT over THEN job.policy END,
      output = ended.output
    FROM ended WHERE job.name = ended.name AND job.id = ended.id AND job.state = 'active' AND job.started_on = token
      AND (beat IS NULL OR job.heartbeat_on = beat)
    RETURNING ended.n, ended.state, job.id, job.name
  ), forgotten AS (
    DELETE FROM receiver.steps USING updated
    WHERE updated.state = 'done' AND steps.id = updated.id AND steps.handler = split_part(updated.name, '/', 1))
  SELECT n FROM updated`;
/**
 * The same for one job that is done. Without parameters it is sent in one message with COMMIT, which a lost job prevents by
 * the division.
 */
const done = ({ name, id, token }: Claim, handler: string): string => `
  WITH done AS (
    UPDATE receiver.job_common SET state = 'completed', completed_on = clock_timestamp(), policy = NULL
    WHERE name = '${name}' AND id = '${id}' AND state = 'active' AND started_on = '${token}' RETURNING 1
  ), forgotten AS (DELETE FROM receiver.steps WHERE id = '${id}' AND handler = '${handler}' AND EXISTS (SELECT FROM done))
  SELECT 1 / count(*) FROM done;`;
const DIVISION_BY_ZERO = "22012";
/** Includes the queue of another definition of these handlers: with or without a key. */
const LIST_EXPIRED = `
  SELECT name, id, started_on::text AS token, heartbeat_on::text AS beat, retry_count + 1 AS attempt, output->>'errors' AS errors,
    split_part(name, '/', 1) AS handler
  FROM receiver.job WHERE state = 'active' AND heartbeat_on < now() - heartbeat_seconds * interval '1 s'`;

const FIND_STEP = `SELECT result FROM receiver.steps WHERE id = $1 AND handler = $2 AND name = $3`;
const RECORD_STEP = `
  WITH held AS (
    SELECT id FROM receiver.job WHERE name = $1 AND id = $2 AND state = 'active' AND started_on = $3::timestamptz FOR UPDATE)
  INSERT INTO receiver.steps SELECT id, $4, $5, $6 FROM held
  ON CONFLICT (id, handler, name) DO UPDATE SET result = excluded.result RETURNING 1`;

/** A job that a worker holds, and its attempt. The job's `output` has its errors. */
type Claim = {
  name: string;
  id: string;
  token: string;
  beat?: string;
  attempt: number;
  errors: string | null;
};
type Ended = { claim: Claim; ending: Ending };

type Claimed = Claim & Pick<Job, "type" | "body" | "receivedAtMs" | "waitingSinceMs"> & { event: string };

/** After this time a busy handler looks which of its queues have due jobs. */
const KNOWN_MS = 1_000;

/** Claims jobs and records how their attempts end. */
export function createJobs({ run, transaction }: Database, boss: PgBoss, clock: Clock) {
  /** The jobs that this process holds. */
  const held = new Map<Job, Claim>();
  const look = together(async (all: readonly (readonly string[])[]) => {
    const due = new Set((await run<{ name: string }>(LOOK, [all.flat()])).map(({ name }) => name));
    return all.map((queues) => queues.filter((name) => due.has(name)));
  });
  /** Attempts that end while one statement runs are written together by the next one. */
  const end = together(write);
  /** By handler, its queues with due jobs, if its last claim found as many as it had room for. Most are still due. */
  const busy = new Map<string, { due: readonly string[]; untilMs: number }>();

  const jobs: Omit<Jobs, "begin" | "onArrival"> = {
    claim: async (handler, limit) => {
      const claimed: Claimed[] = [];
      const executeSql = async (text: string, values?: unknown[]) => {
        const rows = await run<Claimed>(claimWith(text), values);
        claimed.push(...rows);
        return { rows };
      };
      const found = busy.get(handler);
      const isKnown = found !== undefined && found.untilMs > clock.monotonicMs();
      // A handler that gained or lost its key has both queues for a while. Neither may block the other.
      const due = isKnown ? found.due : ((await look([handler, `${handler}/key`])) ?? []);
      for (const [index, queue] of due.entries()) {
        const batchSize = Math.ceil((limit - claimed.length) / (due.length - index));
        if (batchSize > 0) await boss.fetch(queue, { batchSize, includeMetadata: true, db: { executeSql } });
      }
      const untilMs = isKnown ? found.untilMs : clock.monotonicMs() + KNOWN_MS;
      if (claimed.length < limit) busy.delete(handler);
      else busy.set(handler, { due: due.toReversed(), untilMs });
      return claimed.map((row) => toJob(handler, row));
    },

    end: async (job, ending) => {
      const claim = held.get(job);
      const isWritten = claim !== undefined && (await end({ claim, ending })) === true;
      held.delete(job);
      return isWritten;
    },

    atomically: async (job, work, signal) => {
      signal.throwIfAborted();
      const claim = claimOf(job);
      let isWorked = false;
      const inTransaction = async (_: Query, client: PoolClient) => {
        const result = await useTransaction(client, clock, work);
        signal.throwIfAborted();
        isWorked = true;
        return result;
      };
      const last = done(claim, job.handler);
      const result = await transaction(inTransaction, { last }).catch((error: unknown) => {
        throw isWorked && codeOf(error) === DIVISION_BY_ZERO ? new JobLost(job) : error;
      });
      held.delete(job);
      return result;
    },

    query: async (text, parameters) =>
      transaction(async (_, client) =>
        useTransaction(client, clock, async (db) => db.query(text, parameters)),
      ),

    findStep: async (job, name) => {
      const values = [hexOf(job.id), job.handler, name];
      return (await run<{ result: string }>(FIND_STEP, values))[0]?.result;
    },
    recordStep: async (job, name, json) => {
      const { name: queue, id, token } = claimOf(job);
      const values = [queue, id, token, job.handler, name, json];
      if ((await run(RECORD_STEP, values)).length === 0) throw new JobLost(job);
    },
  };
  return {
    jobs,
    /** Writes the heartbeats of held jobs. */
    beat: async (): Promise<void> => {
      const byQueue = Map.groupBy(held.values(), ({ name }) => name);
      for (const [name, some] of byQueue) {
        const ids = some.map(({ id }) => id);
        await boss.touch(name, ids);
      }
    },
    /** Ends attempts of dead workers, for these handlers only. */
    reap: async (handlers: readonly JobHandler[]): Promise<void> => {
      const expired = await run<Claim & { handler: string }>(LIST_EXPIRED);
      const endings = expired.flatMap(({ handler, ...claim }): Ended[] => {
        const policy = handlers.find(({ name }) => name === handler);
        return policy ? [{ claim, ending: endingOfCrash(claim.attempt, policy) }] : [];
      });
      if (endings.length > 0) await write(endings);
    },
    holds: () => held.size > 0,
  };

  function toJob(handler: string, row: Claimed): Job {
    const { event: id, type, body, attempt, receivedAtMs, waitingSinceMs } = row;
    const job = { handler, id, type, body, attempt, receivedAtMs, waitingSinceMs };
    held.set(job, row);
    return job;
  }

  function claimOf(job: Job): Claim {
    const claim = held.get(job);
    if (!claim) throw new JobLost(job);
    return claim;
  }

  /** Returns for each whether it was still held. */
  async function write(all: readonly Ended[]): Promise<boolean[]> {
    const rows = await run<{ n: number }>(END, [json(all.map(rowOf))]);
    const written = new Set(rows.map(({ n }) => n));
    return all.map((_, n) => written.has(n));
  }

  function rowOf({ claim, ending }: Ended, n: number) {
    const { name, id, token, beat } = claim;
    const { errors, deferred, cause, ...written } = writtenOf(ending, claim, clock.nowMs());
    // Most jobs never fail, and store nothing.
    const output = errors === null ? null : { errors, deferred, cause };
    return { n, name, id, token, beat, ...written, output };
  }
}
