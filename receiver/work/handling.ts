import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../clock.ts";
import type { Atomically, Claim, FailedJob, Outcome } from "../engine.ts";
import { createHandlerLog } from "../operations/handler-log.ts";
import { namedError } from "../named-error.ts";
import type { Log } from "../operations/log.ts";
import type { RestClient } from "../operations/rest-client.ts";
import { againAfter, type HandledEvent, type Handler, type HandlerContext } from "./handler.ts";
import type { PolicyDefaults } from "./policies.ts";
import { createStep } from "./steps.ts";

/** How long a handler may take to end once its deadline has passed, before only a new process helps. */
const ENDING_MS = 5_000;

/** A handler that says `RetryAfter(0)` for ever must not keep a core busy. */
const SHORTEST_LATER_MS = 1_000;

const NOT_AWAITED =
  "The handler returned while its atomically() was still running, so that was rolled back: await it.";

export type Handling = {
  /** What an engine calls with every job that it has claimed. Never throws. */
  handle: (claim: Claim) => Promise<Outcome>;
  /**
   * To be called in the handler of `uncaughtException`: the job whose code threw the error, in a list; an empty list where
   * that job had ended before; undefined where the code belongs to no job.
   */
  blame: (error: unknown) => FailedJob[] | undefined;
};

/**
 * Runs claimed jobs: find the handler, check the event, run it until its deadline, and name how it ended. A handler that
 * goes on past its deadline has not ended: its attempt is over only when the handler is, so that no retry runs beside an
 * earlier attempt. `onStuck` is called for those that go on for 5 s; only the end of the process can stop them.
 */
export function createHandling(options: {
  handlers: readonly Handler[];
  services?: unknown;
  defaults: PolicyDefaults & { maximumAgeMs: number };
  clock: Clock;
  log: Log;
  api?: RestClient | undefined;
  /** Takes secrets, and what is personal in the event, out of what handlers throw, before it is kept. */
  clean: (text: string, body: string) => string;
  onStuck: (job: FailedJob) => void;
}): Handling {
  const { clock, defaults, clean } = options;
  const handlers = new Map(options.handlers.map((handler) => [handler.name, handler]));
  const running = new AsyncLocalStorage<Claim>();
  const unended = new Set<Claim>();

  return {
    handle: async (claim) => {
      unended.add(claim);
      try {
        return await running.run(claim, handle, claim);
      } finally {
        unended.delete(claim);
      }
    },
    blame: (error) => {
      const claim = running.getStore();
      if (!claim) return undefined;
      const { handler, id, body } = claim;
      return unended.has(claim) ? [{ handler, id, error: clean(textOf(error), body) }] : [];
    },
  };

  async function handle(claim: Claim): Promise<Outcome> {
    const handler = handlers.get(claim.handler);
    if (!handler) return { kind: "dead", error: `No handler is called "${claim.handler}".` };
    // Of another version, beside which this one runs: a later attempt may be made by a worker of that version.
    if (handler.types !== "*" && !handler.types.includes(claim.type))
      return { kind: "failed", error: `"${claim.handler}" takes no ${claim.type} in this version of it.` };
    try {
      const parsed = handler.parse(JSON.parse(claim.body));
      if (!parsed.ok) return { kind: "dead", error: clean(parsed.problem, claim.body) };
      await attempt(claim, handler, parsed.event);
      return { kind: "done" };
    } catch (error) {
      return outcomeOf(error, claim);
    }
  }

  async function attempt(claim: Claim, handler: Handler, event: HandledEvent): Promise<void> {
    const abort = new AbortController();
    const { signal } = abort;
    const { timeoutSeconds = defaults.handlerTimeoutMs / 1_000 } = handler;
    let overdue: Error | undefined;
    const onClaimLost = (): void => abort.abort(claim.signal.reason);
    claim.signal.addEventListener("abort", onClaimLost, { once: true });
    if (claim.signal.aborted) onClaimLost();
    let cancel = clock.after(timeoutSeconds * 1_000, () => {
      overdue = namedError(
        "DeadlinePassed",
        `The handler did not finish within ${String(timeoutSeconds)} s (HANDLER_TIMEOUT_SECONDS, or its timeoutSeconds).`,
      );
      abort.abort(overdue);
      const stuck = { handler: claim.handler, id: claim.id, error: textOf(overdue) };
      cancel = clock.after(ENDING_MS, () => options.onStuck(stuck));
    });
    const transact = claim.atomically(signal);
    let open: Promise<void> | undefined;
    const atomically: Atomically = (work) => {
      // Also for what it does at once.
      open = Promise.resolve();
      const result = transact(work);
      const settle = (): void => void (open = undefined);
      // Without this, a rejection that the handler does not await would end the process.
      open = result.then(settle, settle);
      return result;
    };
    const context: HandlerContext = {
      attempt: claim.attempt,
      signal,
      log: createHandlerLog(options.log, claim),
      idempotencyKey: claim.id,
      idempotencyKeyFor: (name) => `${claim.id}:${claim.handler}:${name}`,
      step: createStep({ steps: claim.steps, signal, isInTransaction: () => open !== undefined }),
      services: options.services,
      trace: claim.trace,
      atomically,
      api: options.api,
    };
    try {
      await handler.handle(event, context);
    } catch (error) {
      // Stops what else the handler has begun.
      abort.abort(error);
      // After the deadline the error may be only that of the aborted signal.
      throw overdue ?? error;
    } finally {
      cancel();
      claim.signal.removeEventListener("abort", onClaimLost);
    }
    if (open) {
      const reason = namedError("NotAwaited", NOT_AWAITED);
      abort.abort(reason);
      // It may have committed already, and then the job is done: the engine knows.
      await open;
      throw reason;
    }
    if (overdue) throw overdue;
  }

  function outcomeOf(thrown: unknown, claim: Claim): Outcome {
    const reason = clean(textOf(thrown), claim.body);
    const again = againAfter(thrown);
    if (again === undefined) return { kind: "failed", error: reason };
    if (again === "never") return { kind: "dead", error: reason };
    const nowMs = clock.nowMs();
    const latestMs = claim.waitingSinceMs + defaults.maximumAgeMs;
    if (nowMs >= latestMs) {
      const error = `${reason} It has been put off for MAX_AGE_HOURS (${String(defaults.maximumAgeMs / 3_600_000)}); requeue it to have it tried for as long again.`;
      return { kind: "dead", error };
    }
    const dueMs = typeof again === "number" ? nowMs + Math.ceil(again * 1_000) : again.getTime();
    const delayMs = Math.max(SHORTEST_LATER_MS, Math.min(dueMs, latestMs) - nowMs);
    return { kind: "later", reason, delayMs };
  }
}

/** What is thrown may refuse to be a text, as an object without a prototype does. */
function textOf(thrown: unknown): string {
  try {
    return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  } catch {
    return "What was thrown cannot be made a text.";
  }
}
