import type { Log } from "../operations/log.ts";
import type { RestClient } from "../operations/rest-client.ts";
import type { Job, Jobs } from "../store/port.ts";
import type { HandlerContext, Json } from "./handler.ts";

export type ContextOptions = { services?: unknown; log: Log; api?: RestClient | undefined };

/** What a handler gets for one attempt. `open` holds its steps and its transaction until they end. */
export function createContext(jobs: Jobs, job: Job, signal: AbortSignal, options: ContextOptions) {
  const { services, api } = options;
  const open = new Set<Promise<unknown>>();
  const steps = new Set<string>();
  let transaction: "none" | "open" | "committed" | "failed" = "none";
  let log: Log | undefined;

  const context: HandlerContext = {
    attempt: job.attempt,
    signal,
    // Made when it is used: most attempts log nothing.
    get log() {
      return (log ??= options.log.child({ event_id: job.id, handler: job.handler, attempt: job.attempt }));
    },
    idempotencyKey: job.id,
    idempotencyKeyFor: (name) => `${job.id}:${job.handler}:${name}`,
    step: (name, run) => track(step(name, run)),
    services,
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
    api,
  };
  return { context, open, isCommitted: () => transaction === "committed" };

  /** Returns the tracked promise itself: a failure that the handler does not await is an uncaught error. */
  function track<Result>(work: Promise<Result>): Promise<Result> {
    const tracked = work.finally(() => open.delete(tracked));
    open.add(tracked);
    return tracked;
  }

  /** One that begins before `signal` is aborted is recorded all the same, or later attempts would do it again. */
  async function step<Result>(name: string, run: () => Promise<Result> | Result): Promise<Json<Result>> {
    if (transaction === "open") throw new Error(`step("${name}") inside atomically(): call it before.`);
    if (steps.has(name)) throw new Error(`step("${name}") is called twice: give each call its own name.`);
    steps.add(name);
    signal.throwIfAborted();
    let json = await jobs.findStep(job, name);
    if (json === undefined) {
      // In an object, since `undefined` alone is no JSON.
      json = JSON.stringify({ result: await run() });
      await jobs.recordStep(job, name, json);
    }
    // Written by the same step; no schema knows its type.
    // eslint-disable-next-line typescript/no-unsafe-type-assertion
    return (JSON.parse(json) as { result: Json<Result> }).result;
  }
}
