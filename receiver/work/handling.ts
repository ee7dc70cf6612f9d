import { createDeadlines, type Clock } from "../clock.ts";
import type { Atomically, Claim, Outcome } from "../engine.ts";
import { createHandlerLog } from "../operations/handler-log.ts";
import type { Log } from "../operations/log.ts";
import type { Redact } from "../operations/secrets.ts";
import { scrub } from "../operations/scrubber.ts";
import type { RestClient } from "../operations/rest-client.ts";
import { LONGEST_RETRY_AFTER_SECONDS } from "./backoff.ts";
import { PermanentFailure, RetryAfter, type Handler } from "./handler.ts";

/** How long a handler may take to notice that its deadline has passed, before it counts as one that can't be stopped. */
const HONOUR_MS = 1_000;

/**
 * Answers the function that an engine calls with every event it has claimed: find the handler, check the event, run it
 * until its deadline, and put a word to how it ended. Never throws. `onAbandoned` hears how many handlers are still
 * running past their deadline, each time it is one more; nobody can stop them short of ending the process.
 */
export function createHandling(options: {
  handlers: readonly Handler[];
  timeoutMs: number;
  clock: Clock;
  log: Log;
  api: RestClient | undefined;
  /** Takes secrets out of what handlers throw, before it is kept. */
  redact: Redact;
  onAbandoned: (running: number) => void;
}): (claim: Claim) => Promise<Outcome> {
  const { clock, timeoutMs } = options;
  const handlers = new Map(options.handlers.map((handler) => [handler.type, handler]));
  const deadlines = createDeadlines({ afterMs: timeoutMs, clock });
  let abandoned = 0;

  return async (claim) => {
    const handler = handlers.get(claim.type);
    if (!handler) return { kind: "ignored" };
    try {
      const prepared = handler.prepare(JSON.parse(claim.body));
      if (!prepared.ok) return { kind: "dead", error: scrub(options.redact(prepared.problem), claim.body) };
      return await attempt(claim, prepared.run);
    } catch (error) {
      return outcomeOf(error, (text) => scrub(options.redact(text), claim.body));
    }
  };

  async function attempt(claim: Claim, run: Runnable): Promise<Outcome> {
    const abort = new AbortController();
    const { promise: given, reject: giveUp } = Promise.withResolvers<never>();
    const stop = (reason: Error): void => {
      abort.abort(reason);
      giveUp(reason);
    };
    const onClaimLost = (): void => stop(asError(claim.signal.reason));
    claim.signal.addEventListener("abort", onClaimLost, { once: true });
    const cancel = deadlines(() => {
      watchAbandoned(running);
      stop(new DeadlinePassed(timeoutMs));
    });
    const { atomically, open } = watchOpen(claim.atomically(abort.signal));
    // A handler that throws before its first await rejects like any other.
    const running = (async () =>
      run({
        attempt: claim.attempt,
        signal: abort.signal,
        log: createHandlerLog(options.log, claim),
        idempotencyKey: claim.id,
        atomically,
        api: options.api,
      }))();
    try {
      await Promise.race([running, given]);
    } catch (error) {
      // Whatever else it has begun is in vain.
      abort.abort(error);
      throw error;
    } finally {
      cancel();
      claim.signal.removeEventListener("abort", onClaimLost);
    }
    const forgotten = open();
    if (!forgotten) return { kind: "done" };
    const reason = new NotAwaited();
    abort.abort(reason);
    // It may have committed already, and then the event is done: the engine knows.
    await forgotten;
    throw reason;
  }

  function watchAbandoned(running: Promise<void>): void {
    let counted = false;
    const cancel = clock.after(HONOUR_MS, () => {
      counted = true;
      abandoned += 1;
      options.onAbandoned(abandoned);
    });
    const ended = (): void => {
      cancel();
      if (counted) abandoned -= 1;
    };
    running.then(ended, ended);
  }
}

type Runnable = Extract<ReturnType<Handler["prepare"]>, { ok: true }>["run"];

/** Tells of a transaction that is still open: a promise that resolves once it has ended, however it does. */
function watchOpen(inner: Atomically): { atomically: Atomically; open: () => Promise<void> | undefined } {
  let open: Promise<void> | undefined;
  return {
    open: () => open,
    atomically: async (work) => {
      const result = inner(work);
      const settled = (): void => {
        open = undefined;
      };
      open = result.then(settled, settled);
      return result;
    },
  };
}

class DeadlinePassed extends Error {
  override readonly name = "DeadlinePassed";

  constructor(timeoutMs: number) {
    super(`The handler did not finish within ${String(timeoutMs / 1_000)} s (HANDLER_TIMEOUT_SECONDS).`);
  }
}

class NotAwaited extends Error {
  override readonly name = "NotAwaited";

  constructor() {
    super(
      "The handler returned while its atomically() was still running, so that was rolled back: await it.",
    );
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

function outcomeOf(thrown: unknown, clean: (text: string) => string): Outcome {
  const error = clean(thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown));
  if (thrown instanceof PermanentFailure) return { kind: "dead", error };
  if (!(thrown instanceof RetryAfter)) return { kind: "failed", error };
  const seconds = Math.min(thrown.seconds, LONGEST_RETRY_AFTER_SECONDS);
  return { kind: "failed", error, retryAfterMs: Math.ceil(seconds * 1_000) };
}
