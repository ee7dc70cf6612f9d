import type { Handled, Outcome, RetryPolicy } from "../engine.ts";

/** How a claim ends, as it is written to the event's row. */
export type Ending = {
  state: "done" | "ignored" | "dead" | "pending";
  error: string | null;
  /** Of a `pending` one: whole milliseconds until the next attempt. */
  delayMs?: number;
};

/** What follows from how the attempt number `attempt` ended. */
export function endingOf(attempt: number, outcome: Outcome, retry: RetryPolicy): Ending {
  if (outcome.kind === "done" || outcome.kind === "ignored") return { state: outcome.kind, error: null };
  const { error } = outcome;
  if (outcome.kind === "dead" || attempt >= retry.maximumAttempts) return { state: "dead", error };
  return { state: "pending", error, delayMs: Math.ceil(outcome.retryAfterMs ?? retry.backoffMs(attempt)) };
}

/** The word for an ending that was stored. */
export function handledAs({ state }: Ending): Handled["outcome"] {
  return state === "pending" ? "failed" : state;
}
