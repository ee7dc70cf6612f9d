import { LEASE_MS, type JobHandler } from "../../engine.ts";
import { fateOf, VANISHED } from "../ending.ts";
import type { Database } from "./connection.ts";
import { isHeld, NOT_SYNCED, settle, type ClaimKey, type Settlement } from "./jobs.ts";

const KEEP = `
  WITH ${NOT_SYNCED} INSERT INTO receiver.workers AS worker (id, lease_until)
  SELECT $1, clock_timestamp() + $2 * interval '1 ms' FROM settings
  ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until RETURNING worker.held`;
const RESIGN = `DELETE FROM receiver.workers WHERE id = $1`;
const FIND_GONE = `
  DELETE FROM receiver.workers WHERE id = ANY (ARRAY(
    SELECT id FROM receiver.workers WHERE (lease_until < clock_timestamp() OR id = ANY ($2)) AND id <> $1
    FOR UPDATE SKIP LOCKED))
  RETURNING id, held`;
/** What of it is still in the hands of who is gone. */
const FIND_LEFT = `
  SELECT name AS handler, id AS job, started_on AS token, retry_count + 1 AS attempt FROM boss.job
  JOIN jsonb_to_recordset($1) AS held(handler text, job uuid, token timestamptz)
    ON job.name = held.handler AND job.id = held.job AND ${isHeld("held.token")}`;

export type Workers = ReturnType<typeof createWorkers>;

/** Who lives, by one row a worker with what it holds, and what becomes of what the dead held. */
export function createWorkers({ run, transaction }: Database) {
  return {
    /**
     * Makes the lease last from now on, or begins it: a claim counts for nothing without one. Answers what the database
     * has in the hands of this worker, which is nothing once somebody took it for dead.
     */
    keep: async (worker: string): Promise<ClaimKey[]> =>
      (await run<{ held: ClaimKey[] }>(KEEP, [worker, LEASE_MS]))[0]?.held ?? [],

    resign: async (worker: string): Promise<void> => {
      await run(RESIGN, [worker]);
    },

    /** Takes back what workers held whose lease is over, or that are certainly gone. */
    takeOver: async (
      self: string,
      gone: readonly string[],
      handlers: readonly JobHandler[],
    ): Promise<void> => {
      await transaction(async (_client, say) => {
        for (const { id, held } of await say<{ id: string; held: ClaimKey[] }>(FIND_GONE, [self, gone])) {
          const left = await say<ClaimKey & { attempt: number }>(FIND_LEFT, [JSON.stringify(held)]);
          const how = { alone: left.length === 1, why: gone.includes(id) ? "crashed" : "expired" } as const;
          await settle(
            say,
            left.map((claim) => afterCrash(claim, how, handlers)),
          );
        }
      });
    },
  };
}

function afterCrash(
  { attempt, ...claim }: ClaimKey & { attempt: number },
  { alone, why }: Pick<Parameters<typeof fateOf>[0], "alone" | "why">,
  handlers: readonly JobHandler[],
): Settlement {
  // Of a handler that isn't ours, nobody here knows the limits.
  const policy = handlers.find(({ name }) => name === claim.handler) ?? {
    maximumAttempts: Infinity,
    backoffMs: () => 0,
  };
  const { state, attempts, delayMs } = fateOf({ attempts: attempt, alone, why }, policy);
  const output = { error: VANISHED };
  if (state === "dead") return { ...claim, state: "failed", output };
  return { ...claim, state: "retry", kind: "suspect", delayMs, uncounted: attempts < attempt, output };
}
