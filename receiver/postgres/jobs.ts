import type { PgBoss } from "pg-boss";
import type { Clock } from "../clock.ts";
import { JobLost, type Job, type Jobs } from "../store/port.ts";
import { together, type Database } from "./connection.ts";
import { createEndings, type Claim } from "./endings.ts";
import { useTransaction } from "./handler-sql.ts";
import { hexOf } from "./intake.ts";
import { unixMs } from "./views.ts";

/** Which of these queues have a job that is due. Most looks find none, and cost one statement for all of them. */
const LOOK = `
  SELECT name FROM unnest($1::text[]) AS queues(name) WHERE EXISTS (
    SELECT FROM receiver.job WHERE job.name = queues.name AND state < 'active' AND NOT blocked AND start_after <= now())`;
/** pg-boss's own statement, with what a worker has to know of the events. */
const claimWith = (fetch: string): string => `
  WITH claimed AS (${fetch})
  SELECT claimed.name, id, "startedOn"::text AS token, "retryCount" + 1 AS attempt, output->>'errors' AS errors, type, body,
    replace(id::text, '-', '') AS hex, ${unixMs("received_at")} AS "receivedAtMs", (data->>'since')::bigint AS since
  FROM claimed JOIN receiver.events USING (id) ORDER BY "createdOn"`;
const FIND_STEP = `SELECT result FROM receiver.steps WHERE id = $1 AND handler = $2 AND name = $3`;
const RECORD_STEP = `
  WITH held AS (
    SELECT id FROM receiver.job WHERE name = $1 AND id = $2 AND state = 'active' AND started_on = $3::timestamptz FOR UPDATE)
  INSERT INTO receiver.steps SELECT id, $4, $5, $6 FROM held
  ON CONFLICT (id, handler, name) DO UPDATE SET result = excluded.result RETURNING 1`;

type Claimed = Claim & {
  hex: string;
  type: string;
  body: Buffer;
  receivedAtMs: number;
  since: number | null;
};

/** Hands out jobs, and has it written down how they end. */
export function createJobs({ run, transaction }: Database, boss: PgBoss, clock: Clock) {
  /** What this process has in hand. */
  const held = new Map<Job, Claim>();
  const hasMore = new Set<string>();
  const { end, write, reap } = createEndings(run, clock);
  const look = together(async (all: readonly (readonly string[])[]) => {
    const found = await run<{ name: string }>(LOOK, [all.flat()]);
    return new Set(found.map(({ name }) => name));
  });

  const jobs: Omit<Jobs, "begin" | "onArrival"> = {
    claim: async (handler, limit) => {
      const claimed: Claimed[] = [];
      const executeSql = async (text: string, values?: unknown[]) => {
        const rows = await run<Claimed>(claimWith(text), values);
        claimed.push(...rows);
        return { rows };
      };
      for (const queue of await dueOf([handler, `${handler}/key`])) {
        const batchSize = limit - claimed.length;
        if (batchSize <= 0) break;
        const rows = await boss.fetch(queue, { batchSize, includeMetadata: true, db: { executeSql } });
        if (rows.length === 0) hasMore.delete(queue);
        else hasMore.add(queue);
      }
      return claimed.map((row) => toJob(handler, row));
    },

    end: async (job, ending) => {
      const claim = held.get(job);
      const isWritten = claim !== undefined && (await end({ claim, ending }));
      held.delete(job);
      return isWritten;
    },

    atomically: async (job, work, signal) => {
      signal.throwIfAborted();
      const claim = claimOf(job);
      const result = await transaction(async (query, client) => {
        const worked = await useTransaction({ query, client, clock }, work);
        signal.throwIfAborted();
        const written = await write(query, [{ claim, ending: { kind: "done" } }]);
        if (written.size === 0) throw new JobLost(job);
        return worked;
      });
      held.delete(job);
      return result;
    },

    query: async (text, parameters) =>
      transaction(async (query, client) =>
        useTransaction({ query, client, clock }, async (db) => db.query(text, parameters)),
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
    /** Writes the heartbeats of what is held. */
    beat: async (): Promise<void> => {
      const byQueue = Map.groupBy(held.values(), ({ name }) => name);
      for (const [name, some] of byQueue) {
        const ids = some.map(({ id }) => id);
        await boss.touch(name, ids);
      }
    },
    reap,
    holds: () => held.size > 0,
  };

  /** Queues that had more when they were claimed from last are not asked. */
  async function dueOf(queues: readonly string[]): Promise<string[]> {
    const known = queues.filter((queue) => hasMore.has(queue));
    if (known.length > 0) return known;
    const { result: due } = await look(queues);
    return queues.filter((queue) => due.has(queue));
  }

  function toJob(handler: string, row: Claimed): Job {
    const { hex, type, body, attempt, receivedAtMs, since } = row;
    const waitingSinceMs = since ?? receivedAtMs;
    const id = `evt_${hex}`;
    const job = { handler, id, type, body: body.toString("utf8"), attempt, receivedAtMs, waitingSinceMs };
    held.set(job, row);
    return job;
  }

  function claimOf(job: Job): Claim {
    const claim = held.get(job);
    if (!claim) throw new JobLost(job);
    return claim;
  }
}
