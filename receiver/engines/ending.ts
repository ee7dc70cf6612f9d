import { LEASE_MS, type Handled, type JobHandler, type Outcome } from "../engine.ts";

/** How a claim ends, as it is written to the job's row. */
export type Ending = {
  state: "done" | "dead" | "pending";
  error: string | null;
  /** For `pending`: whole milliseconds until the next attempt, 20 days at the most. */
  delayMs?: number;
  /** Put off by its handler: the attempt doesn't count. */
  deferred?: boolean;
};

export const DONE: Ending = { state: "done", error: null };

/** Longer waits are cut to this. */
export const LONGEST_DELAY_MS = 20 * 86_400_000;

export type RetryPolicy = Pick<JobHandler, "maximumAttempts" | "backoffMs">;

/** For a handler that this process does not have: it buries none of its jobs, and leaves that to a process that has it. */
export const UNKNOWN_POLICY: RetryPolicy = { maximumAttempts: Infinity, backoffMs: () => 0 };

/** What follows from how the attempt number `attempt` ended. */
export function endingOf(attempt: number, outcome: Outcome, policy: RetryPolicy): Ending {
  if (outcome.kind === "done") return DONE;
  if (outcome.kind === "later") {
    return { state: "pending", error: outcome.reason, delayMs: wholeMs(outcome.delayMs), deferred: true };
  }
  const { error } = outcome;
  if (outcome.kind === "dead" || attempt >= policy.maximumAttempts) return { state: "dead", error };
  return { state: "pending", error, delayMs: wholeMs(policy.backoffMs(attempt)) };
}

function wholeMs(delayMs: number): number {
  return Math.min(Math.ceil(delayMs), LONGEST_DELAY_MS);
}

/** The word for an ending that was stored. */
export function handledAs({ state, deferred = false }: Ending): Handled["outcome"] {
  if (state !== "pending") return state;
  return deferred ? "later" : "failed";
}

export const VANISHED = "The worker vanished while it handled this event.";

/**
 * What becomes of a job whose worker vanished. Where the worker held several, nobody knows which was the cause, and the
 * attempt counts for none. Where it held this one alone, the attempt counts: after a crash the job waits for its backoff, a
 * lease at the most; after an expired lease it has waited already.
 */
export function fateOf(
  vanished: { attempts: number; alone: boolean; why: "expired" | "crashed" },
  policy: RetryPolicy,
): { state: "suspect" | "dead"; attempts: number; delayMs: number } {
  const { attempts, alone, why } = vanished;
  if (!alone) return { state: "suspect", attempts: attempts - 1, delayMs: 0 };
  if (attempts >= policy.maximumAttempts) return { state: "dead", attempts, delayMs: 0 };
  const delayMs = why === "expired" ? 0 : Math.ceil(Math.min(policy.backoffMs(attempts), LEASE_MS));
  return { state: "suspect", attempts, delayMs };
}
