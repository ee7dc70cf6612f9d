import type { Clock } from "../../clock.ts";
import type { Handled, Outcome, RetryPolicy } from "../../engine.ts";
import type { ClaimedEvent, Claims, Ending } from "./claims.ts";

const PAUSE_AFTER_TROUBLE_MS = 500;

/**
 * Answers a function that settles a claim and tells whether it was still held. What ends while a statement is on its
 * way is settled together in the next. A database that is away is asked again, until `stopped`.
 */
export function createSettling(options: {
  claims: Claims;
  worker: string;
  clock: Clock;
  stopped: AbortSignal;
  onTrouble: (error: unknown) => void;
}): (ending: Ending) => Promise<boolean> {
  const { claims, worker, clock, stopped } = options;
  let waiting: { ending: Ending; give: (held: boolean) => void }[] = [];
  let settling = false;

  return async (ending) => {
    const { promise, resolve: give } = Promise.withResolvers<boolean>();
    waiting.push({ ending, give });
    if (!settling) void settleAll();
    return promise;
  };

  async function settleAll(): Promise<void> {
    settling = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        const endings = batch.map(({ ending }) => ending);
        const held = await claims.settle(worker, endings);
        for (const { ending, give } of batch) give(held.has(ending.seq));
      } catch (error) {
        options.onTrouble(error);
        if (stopped.aborted) for (const { give } of batch) give(false);
        else waiting = [...batch, ...waiting];
        await clock.sleep(PAUSE_AFTER_TROUBLE_MS, stopped);
      }
    }
    settling = false;
  }
}

/** What is written to the event's row for how its attempt ended. */
export function endingOf(
  { seq, token, attempts }: ClaimedEvent,
  outcome: Outcome,
  retry: RetryPolicy,
): Ending {
  if (outcome.kind === "done" || outcome.kind === "ignored") {
    return { seq, token, state: outcome.kind, error: null };
  }
  const { error } = outcome;
  if (outcome.kind === "dead" || attempts >= retry.maximumAttempts)
    return { seq, token, state: "dead", error };
  const delayMs = outcome.retryAfterMs ?? retry.backoffMs(attempts);
  return { seq, token, state: "pending", error, delayMs };
}

/** The word for an ending that was stored; none is that of an event which its handler's transaction completed. */
export function outcomeOf(ending: Ending | undefined): Handled["outcome"] {
  if (ending === undefined) return "done";
  return ending.state === "pending" ? "failed" : ending.state;
}
