import { setImmediate as nextTurn } from "node:timers/promises";
import type { Db } from "pg-boss";
import { z } from "zod";
import { causeOfError } from "../../shared/causes.ts";
import type { Clock } from "../clock.ts";
import { JobLost, type Ending, type Job, type JobError, type JobHandler, type Jobs } from "../store/port.ts";
import { storable, type Database, type Query } from "./connection.ts";
import { queueOf } from "./handlers.ts";
import { useTransaction } from "./handler-sql.ts";
import { createBoss, executor } from "./schema.ts";

/** How many of a job's errors are kept. */
const ERRORS_KEPT = 5;
const CRASHED = "The worker process ended during this attempt.";

/** Which of these queues have a job that is due. Most looks find none, and cost one statement for all of them. */
const LOOK = `
  SELECT name FROM unnest($1::text[]) AS queues(name) WHERE EXISTS (
    SELECT FROM receiver.job WHERE job.name = queues.name AND state < 'active' AND NOT blocked AND start_after <= now())`;
/** pg-boss's own statement, with what a worker has to know of the events. */
const claimWith = (fetch: string): string => `
  WITH claimed AS (${fetch})
  SELECT claimed.name, claimed.id, "startedOn"::text AS token, "retryCount" + 1 AS attempt, output,
    type, body, floor(extract(epoch FROM received_at) * 1000)::bigint AS "receivedAtMs",
    (data->>'since')::bigint AS since
  FROM claimed JOIN receiver.events USING (id) ORDER BY "createdOn"`;
/** The token of a claim is the moment at which it was made, to the microsecond. */
const END = `
  WITH ended AS MATERIALIZED (
    SELECT *, state IN ('completed', 'failed') AS over FROM json_to_recordset($1) AS ended(n integer, name text, id uuid,
      token timestamptz, beat timestamptz, state text, delay double precision, uncounted boolean, output jsonb)
  ), updated AS (
    UPDATE receiver.job SET
      state = ended.state::receiver.job_state,
      start_after = clock_timestamp() + delay * interval '1 ms',
      -- Without it pg-boss does not count the attempt when it hands the job out again.
      started_on = CASE WHEN NOT uncounted THEN job.started_on END,
      completed_on = CASE WHEN over THEN clock_timestamp() END,
      -- Without it a dead job holds back nobody.
      policy = CASE WHEN NOT over THEN job.policy END,
      output = ended.output
    FROM ended WHERE job.name = ended.name AND job.id = ended.id AND job.state = 'active' AND job.started_on = token
      AND (beat IS NULL OR job.heartbeat_on = beat)
    RETURNING ended.n, ended.state, job.id, job.name
  ), forgotten AS (
    DELETE FROM receiver.steps USING updated
    WHERE updated.state = 'completed' AND steps.id = updated.id AND steps.handler = split_part(updated.name, '/', 1))
  SELECT n FROM updated`;
const LIST_EXPIRED = `
  SELECT name, id, started_on::text AS token, heartbeat_on::text AS beat, retry_count + 1 AS attempt, output FROM receiver.job
  WHERE state = 'active' AND name = ANY ($1) AND heartbeat_on < now() - heartbeat_seconds * interval '1 s'`;
const FIND_STEP = `SELECT result FROM receiver.steps WHERE id = $1 AND handler = $2 AND name = $3`;
const RECORD_STEP = `
  WITH held AS (
    SELECT id FROM receiver.job WHERE name = $1 AND id = $2 AND state = 'active' AND started_on = $3::timestamptz FOR UPDATE)
  INSERT INTO receiver.steps SELECT id, $4, $5, $6 FROM held
  ON CONFLICT (id, handler, name) DO UPDATE SET result = excluded.result RETURNING 1`;

/** What is kept with a job in `output`. */
export const outputSchema = z
  .object({
    errors: z.array(z.object({ attempt: z.number(), atMs: z.number(), error: z.string() })).default([]),
    deferred: z.boolean().default(false),
    /** Why it is dead or ignored. */
    cause: z.string().optional(),
  })
  .nullable()
  .transform((output) => output ?? { errors: [], deferred: false });

type Claim = { name: string; id: string; token: string; beat?: string; attempt: number; output: unknown };
type Claimed = Claim & {
  type: string;
  body: Buffer;
  receivedAtMs: number;
  since: number | null;
};
type Ended = { claim: Claim; ending: Ending };

/** Hands out jobs and writes down how they end. */
export function createJobs(database: Database, clock: Clock) {
  const { run, transaction } = database;
  const claims = new WeakMap<Job, Claim>();
  const held = new Set<Claim>();
  const boss = createBoss(database.schema, executor(run));
  const hasMore = new Set<string>();
  let looking: { queues: Set<string>; due: Promise<Set<string>> } | undefined;
  let ending: { all: Ended[]; written: Promise<Set<number>> } | undefined;
  let writing: Promise<unknown> = Promise.resolve();

  const jobs: Omit<Jobs, "begin" | "onArrival"> = {
    claim: async (handler, limit) => {
      const claimed: Claimed[] = [];
      const db: Db = {
        executeSql: async (text, values) => {
          const rows = await run<Claimed>(claimWith(text), values);
          claimed.push(...rows);
          return { rows };
        },
      };
      for (const queue of await dueOf([handler, `${handler}/key`])) {
        if (claimed.length >= limit) break;
        const batchSize = limit - claimed.length;
        const rows = await boss.fetch(queue, { batchSize, includeMetadata: true, db });
        if (rows.length === 0) hasMore.delete(queue);
        else hasMore.add(queue);
      }
      return claimed.map((row) => toJob(handler, row));
    },

    end: async (job, how) => {
      const claim = claimOf(job);
      const isWritten = await end({ claim, ending: how });
      held.delete(claim);
      return isWritten;
    },

    atomically: async (job, work, signal) => {
      signal.throwIfAborted();
      const claim = claimOf(job);
      const result = await transaction(
        async (query, client) => {
          const worked = await useTransaction({ query, client, clock }, work);
          signal.throwIfAborted();
          const written = await write(query, [{ claim, ending: { kind: "done" } }]);
          if (written.size === 0) throw new JobLost(job);
          return worked;
        },
        { tries: 1 },
      );
      held.delete(claim);
      return result;
    },

    query: async (text, parameters) =>
      transaction(
        async (query, client) =>
          useTransaction({ query, client, clock }, async (db) => db.query(text, parameters)),
        { tries: 1 },
      ),

    findStep: async (job, name) => {
      const [found] = await run<{ result: string }>(FIND_STEP, [
        claimOf(job).id,
        job.handler,
        storable(name),
      ]);
      return found?.result;
    },
    recordStep: async (job, name, json) => {
      const { name: queue, id, token } = claimOf(job);
      const values = [queue, id, token, job.handler, storable(name), storable(json)];
      if ((await run(RECORD_STEP, values)).length === 0) throw new JobLost(job);
    },
  };
  return { jobs, addQueue, beat, reap, holds: () => held.size > 0 };

  async function addQueue(name: string, isKeyed: boolean): Promise<void> {
    await boss.createQueue(name, isKeyed ? { policy: "key_strict_fifo" } : {});
  }

  /** Extends what this process has in hand. */
  async function beat(): Promise<void> {
    const byQueue = Map.groupBy(held, ({ name }) => name);
    for (const [name, some] of byQueue)
      await boss.touch(
        name,
        some.map(({ id }) => id),
      );
  }

  /** Ends attempts of workers that died, of these handlers alone. */
  async function reap(handlers: readonly JobHandler[]): Promise<void> {
    const policies = new Map(handlers.map((handler) => [queueOf(handler), handler]));
    const expired = await run<Claim>(LIST_EXPIRED, [[...policies.keys()]]);
    const endings = expired.flatMap((claim): Ended[] => {
      const policy = policies.get(claim.name);
      if (!policy) return [];
      const isLast = claim.attempt >= policy.maximumAttempts;
      const failed: Ending = { kind: "failed", error: CRASHED, delayMs: policy.backoffMs(claim.attempt) };
      return [{ claim, ending: isLast ? { kind: "dead", error: CRASHED } : failed }];
    });
    if (endings.length > 0) await write(run, endings);
  }

  /** Queues that had more when they were claimed from last are not asked. Looks of one turn are one statement. */
  async function dueOf(queues: readonly string[]): Promise<string[]> {
    const known = queues.filter((queue) => hasMore.has(queue));
    if (known.length > 0) return known;
    looking ??= { queues: new Set(), due: look() };
    for (const queue of queues) looking.queues.add(queue);
    const due = await looking.due;
    return queues.filter((queue) => due.has(queue));
  }

  async function look(): Promise<Set<string>> {
    await nextTurn();
    const queues = [...(looking?.queues ?? [])];
    looking = undefined;
    const found = await run<{ name: string }>(LOOK, [queues]);
    return new Set(found.map(({ name }) => name));
  }

  /** Attempts that end while one statement is under way are written by the next, together. */
  async function end(ended: Ended): Promise<boolean> {
    if (!ending) {
      const all: Ended[] = [];
      const written = writing.then(async () => {
        ending = undefined;
        return write(run, all);
      });
      writing = written.catch(() => undefined);
      ending = { all, written };
    }
    const place = ending.all.push(ended) - 1;
    return (await ending.written).has(place);
  }

  /** Returns the places of those that were still held. */
  async function write(query: Query, all: readonly Ended[]): Promise<Set<number>> {
    const rows = await query<{ n: number }>(END, [JSON.stringify(all.map(rowOf))]);
    return new Set(rows.map(({ n }) => n));
  }

  function rowOf({ claim, ending: how }: Ended, n: number) {
    const { name, id, token, beat, attempt } = claim;
    const { errors } = outputSchema.parse(claim.output);
    const all =
      "error" in how ? [{ attempt, atMs: clock.nowMs(), error: storable(how.error) }, ...errors] : errors;
    return {
      n,
      name,
      id,
      token,
      beat,
      state: how.kind === "done" ? "completed" : how.kind === "dead" ? "failed" : "retry",
      delay: "delayMs" in how ? how.delayMs : 0,
      uncounted: how.kind === "later" || how.kind === "returned",
      output: {
        errors: all.slice(0, ERRORS_KEPT) satisfies JobError[],
        ...(how.kind === "later" && { deferred: true }),
        ...(how.kind === "dead" && { cause: storable(causeOfError(how.error)) }),
      },
    };
  }

  function toJob(handler: string, row: Claimed): Job {
    const { type, body, attempt, receivedAtMs, since } = row;
    const job = {
      handler,
      id: `evt_${row.id.replaceAll("-", "")}`,
      type,
      body: body.toString("utf8"),
      attempt,
      receivedAtMs,
      waitingSinceMs: since ?? receivedAtMs,
    };
    claims.set(job, row);
    held.add(row);
    return job;
  }

  function claimOf(job: Job): Claim {
    const claim = claims.get(job);
    if (!claim) throw new Error(`The job of ${job.handler} for ${job.id} was not claimed here.`);
    return claim;
  }
}
