import type { Log } from "../operations/log.ts";
import type { RestClient } from "../operations/rest-client.ts";
import type { Job, Jobs } from "../store/port.ts";
import type { HandlerContext } from "./handler.ts";
import { createStep } from "./step.ts";

export type ContextOptions = { services?: unknown; log: Log; api?: RestClient | undefined };

/** What a handler gets for one attempt; `open` has its steps and its transaction until they end. */
export function createContext(jobs: Jobs, job: Job, signal: AbortSignal, options: ContextOptions) {
  const open = new Set<Promise<unknown>>();
  let transaction: "none" | "open" | "committed" | "failed" = "none";
  let log: Log | undefined;
  const step = createStep(jobs, job, signal);

  const context: HandlerContext = {
    attempt: job.attempt,
    signal,
    // Made when it is used: most attempts log nothing.
    get log() {
      return (log ??= options.log.child({ event_id: job.id, handler: job.handler, attempt: job.attempt }));
    },
    idempotencyKey: job.id,
    idempotencyKeyFor: (name) => `${job.id}:${job.handler}:${name}`,
    step: (name, run) => {
      if (transaction === "open") throw new Error(`step("${name}") inside atomically(): call it before.`);
      return track(step(name, run));
    },
    services: options.services,
    trace: job.trace,
    atomically: (work) => {
      if (transaction !== "none") throw new Error("atomically() makes the job done: call it once, last.");
      transaction = "open";
      const result = jobs.atomically(job, work, signal);
      result.then(
        () => (transaction = "committed"),
        () => (transaction = "failed"),
      );
      return track(result);
    },
    api: options.api,
  };
  return { context, open, isCommitted: () => transaction === "committed" };

  /** Returns the tracked promise itself: if it fails and the handler does not await it, the error counts as uncaught. */
  function track<Result>(work: Promise<Result>): Promise<Result> {
    const tracked = work.finally(() => open.delete(tracked));
    open.add(tracked);
    return tracked;
  }
}
