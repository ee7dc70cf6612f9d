import { z } from "zod";
import { within, type Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Log } from "../operations/log.ts";
import type { RestClient } from "../operations/rest-client.ts";
import type { Ending, Job, Jobs } from "../store/port.ts";
import { againAfter, type HandlerContext, type Json } from "./handler.ts";
import { LONGEST_DELAY_MS, type Policy } from "./policy.ts";

/** How long a handler may run past its deadline before its process must end, and how long `onDead` may take. */
const ENDING_MS = 5_000;
const ON_DEAD_MS = 5_000;
/** Keeps `RetryAfter(0)` in a loop from using a whole core. */
const SHORTEST_LATER_MS = 1_000;

/** Exported by a module of handlers: called at least once for each dead job, before that state is stored. */
export type OnDead = (dead: {
  event: DeadEvent;
  handler: string;
  attempts: number;
  error: string;
}) => unknown;

/** An envelope. The intake has checked these two fields. */
const eventSchema = z.looseObject({ id: z.string(), type: z.string() });
type DeadEvent = z.infer<typeof eventSchema>;
type Dead = Extract<Ending, { kind: "dead" }>;

export type AttemptOptions = {
  services?: unknown;
  onDead?: OnDead | undefined;
  config: Pick<Config, "maximumAgeMs">;
  clock: Clock;
  log: Log;
  /** Masks secrets and personal data in a thrown message before it is stored. */
  clean: (text: string) => string;
  api?: RestClient | undefined;
};

/** How an attempt ended. `isCommitted`: its `atomically` has already made the job done. */
export type Attempted = { ending: Ending; isCommitted: boolean };

/** Makes attempts: parses the event, runs the handler until its deadline, and returns how it ended. */
export function createAttempts(jobs: Jobs, options: AttemptOptions) {
  const { clock, clean, log, onDead, services, api } = options;
  return { attempt, reportDead };

  /**
   * Makes one attempt. Never rejects. Resolves only when the handler, its steps and its transaction have ended, so that no
   * later attempt overlaps with it. Calls `onStuck` if they run for 5 s past the deadline. Aborting `abort` asks them to end.
   */
  async function attempt(
    job: Job,
    policy: Policy,
    abort: AbortController,
    onStuck: (ending: Ending) => void,
  ): Promise<Attempted> {
    const { handler, timeoutMs, maximumAttempts } = policy;
    let overdue: Error | undefined;
    let cancel = clock.after(timeoutMs, () => {
      overdue = named("DeadlinePassed", `The handler did not finish within ${String(timeoutMs / 1_000)} s.`);
      abort.abort(overdue);
      const ending = endingOf(overdue, job, policy);
      cancel = clock.after(ENDING_MS, () => onStuck(ending));
    });
    const { context, open, isCommitted } = createContext(job, abort.signal);
    try {
      if (job.attempt > maximumAttempts)
        throw named(
          "NoAttemptLeft",
          `The process ended during the last of ${String(maximumAttempts)} attempts.`,
        );
      if (handler.types !== "*" && !handler.types.includes(job.type))
        throw new Error(`This version of the handler does not take ${job.type}.`);
      await handler.handle(handler.parse(JSON.parse(job.body)), context);
      if (open.size > 0)
        throw named(
          "NotAwaited",
          "The handler returned while a step or its atomically() still ran: await it.",
        );
      if (overdue) throw overdue;
      return { ending: { kind: "done" }, isCommitted: isCommitted() };
    } catch (error) {
      // After the deadline the error may only come from the aborted signal.
      const thrown = overdue ?? error;
      // Stops other work that the handler has started.
      abort.abort(error);
      await Promise.allSettled(open);
      return { ending: endingOf(thrown, job, policy), isCommitted: isCommitted() };
    } finally {
      cancel();
    }
  }

  /** The handler's context for one attempt. `open` holds its steps and its transaction until they end. */
  function createContext(job: Job, signal: AbortSignal) {
    const { id, handler, attempt } = job;
    const open = new Set<Promise<unknown>>();
    const steps = new Set<string>();
    let transaction: "none" | "open" | "committed" | "failed" = "none";
    let ownLog: Log | undefined;

    const context: HandlerContext = {
      attempt,
      signal,
      // Created on first use: most attempts log nothing.
      get log() {
        return (ownLog ??= log.child({ event_id: id, handler, attempt }));
      },
      idempotencyKey: id,
      idempotencyKeyFor: (name) => `${id}:${handler}:${name}`,
      step: (name, run) => track(step(name, run)),
      services,
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

    /** Returns the tracked promise itself, so that a failure the handler does not await is an uncaught error. */
    function track<Result>(work: Promise<Result>): Promise<Result> {
      const tracked = work.finally(() => open.delete(tracked));
      open.add(tracked);
      return tracked;
    }

    /** A step that begins before `signal` is aborted is still recorded; otherwise a later attempt would repeat it. */
    async function step<Result>(name: string, run: () => Promise<Result> | Result): Promise<Json<Result>> {
      if (transaction === "open") throw new Error(`step("${name}") inside atomically(): call it before.`);
      if (steps.has(name)) throw new Error(`step("${name}") is called twice: give each call its own name.`);
      steps.add(name);
      signal.throwIfAborted();
      let json = await jobs.findStep(job, name);
      if (json === undefined) {
        // Wrapped in an object, since `undefined` alone is not JSON.
        json = JSON.stringify({ result: await run() });
        await jobs.recordStep(job, name, json);
      }
      // The same step wrote it; no schema knows its type.
      // eslint-disable-next-line typescript/no-unsafe-type-assertion
      return (JSON.parse(json) as { result: Json<Result> }).result;
    }
  }

  function endingOf(thrown: unknown, job: Job, policy: Policy): Ending {
    const error = clean(textOf(thrown));
    const again = againAfter(thrown);
    const nowMs = clock.nowMs();
    if (again === undefined && job.attempt < policy.maximumAttempts)
      return { kind: "failed", error, delayMs: policy.backoffMs(job.attempt) };
    const reports = Math.max(0, job.attempt - policy.maximumAttempts);
    if (again === undefined || again === "never") return { kind: "dead", error, reports };
    const leftMs = job.waitingSinceMs + options.config.maximumAgeMs - nowMs;
    if (leftMs <= 0)
      return { kind: "dead", error: `${error} It was deferred for MAX_AGE_HOURS; requeue it to try again.` };
    const askedMs = typeof again === "number" ? Math.ceil(again * 1_000) : again.getTime() - nowMs;
    const delayMs = Math.max(SHORTEST_LATER_MS, Math.min(askedMs, leftMs, LONGEST_DELAY_MS));
    return { kind: "later", error, delayMs };
  }

  /** Calls `onDead` before the job is stored as dead: after a crash in between it is called again. */
  async function reportDead(
    { id, handler, attempt, body }: Job,
    { error, reports = 0 }: Dead,
  ): Promise<void> {
    const attempts = attempt - reports;
    try {
      const event = eventSchema.parse(JSON.parse(body));
      await within(ON_DEAD_MS, (async () => onDead?.({ event, handler, attempts, error }))(), clock);
    } catch (thrown) {
      log.error({ handler, event_id: id, error: clean(textOf(thrown)) }, "onDead failed");
    }
  }
}

/** A thrown value may have no text, such as an object without a prototype. */
function textOf(thrown: unknown): string {
  try {
    return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  } catch {
    return "The thrown value has no text.";
  }
}

/** An error that operators recognize by its name. */
function named(name: string, message: string): Error {
  return Object.assign(new Error(message), { name });
}
