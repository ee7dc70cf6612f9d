import { z } from "zod";
import { causeOfError } from "../../shared/causes.ts";
import type { Clock } from "../clock.ts";
import { endingOfCrash, jobErrorsSchema, withError } from "../store/job-rules.ts";
import type { Ending, JobHandler } from "../store/port.ts";
import { storable, type Query } from "./connection.ts";
import { queuesOf } from "./handlers.ts";

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

/** What is kept with a job in `output`. */
export const outputSchema = z
  .object({
    errors: jobErrorsSchema.default([]),
    deferred: z.boolean().default(false),
    /** Why it is dead or ignored. */
    cause: z.string().optional(),
  })
  .nullable()
  .transform((output) => output ?? { errors: [], deferred: false });

/** What a worker has in hand: a job, and which attempt it is. */
export type Claim = {
  name: string;
  id: string;
  token: string;
  beat?: string;
  attempt: number;
  output: unknown;
};
type Ended = { claim: Claim; ending: Ending };

/** Writes down how attempts end. */
export function createEndings(run: Query, clock: Clock) {
  let ending: { all: Ended[]; written: Promise<Set<number>> } | undefined;
  let writing: Promise<unknown> = Promise.resolve();

  return { end, write, reap };

  /** Ends attempts of workers that died, of these handlers alone. */
  async function reap(handlers: readonly JobHandler[]): Promise<void> {
    // Also what it has in the queue of another definition: with a key, or without.
    const policies = new Map(
      handlers.flatMap((handler) => queuesOf(handler.name).map((queue) => [queue, handler] as const)),
    );
    const expired = await run<Claim>(LIST_EXPIRED, [[...policies.keys()]]);
    const endings = expired.flatMap((claim): Ended[] => {
      const policy = policies.get(claim.name);
      if (!policy) return [];
      return [{ claim, ending: endingOfCrash(claim.attempt, policy) }];
    });
    if (endings.length > 0) await write(run, endings);
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
        errors:
          "error" in how
            ? withError(errors, { attempt, atMs: clock.nowMs(), error: storable(how.error) })
            : errors,
        ...(how.kind === "later" && { deferred: true }),
        ...(how.kind === "dead" && { cause: storable(causeOfError(how.error)) }),
      },
    };
  }
}
