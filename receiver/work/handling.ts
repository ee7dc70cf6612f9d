import { rejectWhenAborted } from "./abort.ts";
import { LONGEST_RETRY_AFTER_SECONDS } from "./backoff.ts";
import type { Clock } from "../clock.ts";
import type { Claim, Outcome } from "../engine.ts";
import { PermanentFailure, RetryAfter, type Handler } from "./handler.ts";
import type { Log } from "../operations/log.ts";
import { scrub } from "../operations/privacy.ts";
import type { RestClient } from "../operations/rest-client.ts";

/**
 * Answers the function that an engine calls with every event it has claimed: find the handler, check the event, run it
 * until its deadline, and put a word to how it ended. Never throws. `onAbandoned` hears of each handler that went on
 * past its deadline; nobody can stop it short of ending the process.
 */
export function createHandling(options: {
  handlers: readonly Handler[];
  timeoutMs: number;
  clock: Clock;
  log: Log;
  api: RestClient | undefined;
  onAbandoned: () => void;
}): (claim: Claim) => Promise<Outcome> {
  const handlers = new Map(options.handlers.map((handler) => [handler.type, handler]));

  return async (claim) => {
    const handler = handlers.get(claim.type);
    if (!handler) return { kind: "ignored" };
    const prepared = handler.prepare(JSON.parse(Buffer.from(claim.body).toString("utf8")));
    if (!prepared.ok) return { kind: "dead", error: scrub(prepared.problem, claim.body) };

    const deadline = new AbortController();
    const cancel = options.clock.after(options.timeoutMs, () =>
      deadline.abort(new DeadlinePassed(options.timeoutMs)),
    );
    const log = options.log.child({ event_id: claim.id, type: claim.type, attempt: claim.attempt });
    let ended = false;
    // A handler that throws before its first await rejects like any other.
    const running = (async () =>
      prepared.run({
        attempt: claim.attempt,
        signal: deadline.signal,
        log,
        idempotencyKey: claim.id,
        atomically: claim.atomically(deadline.signal),
        api: options.api,
      }))().finally(() => {
      ended = true;
    });
    try {
      await Promise.race([running, rejectWhenAborted(deadline.signal)]);
      return { kind: "done" };
    } catch (error) {
      if (deadline.signal.aborted && !ended) options.onAbandoned();
      return outcomeOf(error, claim.body);
    } finally {
      cancel();
      deadline.abort(new Error("This attempt is over."));
    }
  };
}

class DeadlinePassed extends Error {
  override readonly name = "DeadlinePassed";

  constructor(timeoutMs: number) {
    super(`The handler did not finish within ${String(timeoutMs / 1_000)} s (HANDLER_TIMEOUT_SECONDS).`);
  }
}

function outcomeOf(thrown: unknown, body: Uint8Array): Outcome {
  const error =
    thrown instanceof Error ? scrub(`${thrown.name}: ${thrown.message}`, body) : scrub(String(thrown), body);
  if (thrown instanceof PermanentFailure) return { kind: "dead", error };
  if (thrown instanceof RetryAfter) {
    return {
      kind: "failed",
      error,
      retryAfterSeconds: Math.min(thrown.seconds, LONGEST_RETRY_AFTER_SECONDS),
    };
  }
  return { kind: "failed", error };
}
