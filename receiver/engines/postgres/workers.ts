import { LEASE_MS, type JobHandler } from "../../engine.ts";
import { fateOf, VANISHED } from "../ending.ts";
import type { Database } from "./connection.ts";
import { isHeld, NOT_SYNCED, settle, type ClaimKey, type Settlement } from "./jobs.ts";

const REGISTER = `
  WITH ${NOT_SYNCED} INSERT INTO receiver.workers (id, lease_until)
  SELECT $1, clock_timestamp() + $2 * interval '1 ms' FROM settings
  ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until`;
const EXTEND = `
  WITH ${NOT_SYNCED} UPDATE receiver.workers SET lease_until = clock_timestamp() + $2 * interval '1 ms'
  FROM settings WHERE id = $1 RETURNING held`;
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

/** Who lives, and what becomes of what the dead held. */
export function createWorkers({ run, transaction }: Database) {
  return {
    /** Before anything is claimed: a claim counts for nothing without a lease. */
    register: async (worker: string): Promise<void> => {
      await run(REGISTER, [worker, LEASE_MS]);
    },

    /** Makes the lease last from now on. Answers what the database thinks is held; undefined when the lease was lost. */
    extend: async (worker: string): Promise<ClaimKey[] | undefined> =>
      (await run<{ held: ClaimKey[] }>(EXTEND, [worker, LEASE_MS]))[0]?.held,

    resign: async (worker: string): Promise<void> => {
      await run(RESIGN, [worker]);
    },

    /**
     * Takes back what workers held whose lease is over, or that are certainly gone.
     */
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
