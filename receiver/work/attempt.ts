import { z } from "zod";
import { within, type Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Ending, Job, Jobs } from "../store/port.ts";
import { createContext, type ContextOptions } from "./context.ts";
import { againAfter, type Handler } from "./handler.ts";
import { LONGEST_DELAY_MS, type Policy } from "./policy.ts";

/** How long a handler may go on after its deadline before its process has to end. */
const ENDING_MS = 5_000;

/** `RetryAfter(0)` for ever must not keep a core busy. */
const SHORTEST_LATER_MS = 1_000;

/** Exported by a module of handlers: called at least once for each job that dies, before that is written. */
export type OnDead = (dead: {
  event: DeadEvent;
  handler: string;
  attempts: number;
  error: string;
}) => unknown;

/** How long `onDead` may take. */
const ON_DEAD_MS = 5_000;

export type AttemptOptions = ContextOptions & {
  onDead?: OnDead | undefined;
  config: Pick<Config, "maximumAgeMs">;
  clock: Clock;
  /** Masks secrets and persons in a thrown message before it is kept. */
  clean: (text: string) => string;
};

/** How an attempt ended. `isCommitted`: its `atomically` has made the job done already. */
export type Attempted = { ending: Ending; isCommitted: boolean };

/** Makes attempts: parses the event, runs the handler until its deadline, and says how it ended. */
export function createAttempts(jobs: Jobs, options: AttemptOptions) {
  const { clock, clean, log, onDead } = options;
  return { attempt, reportDead };

  /**
   * One attempt. Never rejects, and resolves only when the handler, its steps and its transaction have ended, so that no
   * later attempt runs beside it. Calls `onStuck` if they go on for 5 s after the deadline. To abort `abort` asks them to end.
   */
  async function attempt(
    job: Job,
    handler: Handler,
    policy: Policy,
    abort: AbortController,
    onStuck: (ending: Ending) => void,
  ): Promise<Attempted> {
    let overdue: Error | undefined;
    let cancel = clock.after(policy.timeoutMs, () => {
      overdue = named(
        "DeadlinePassed",
        `The handler did not finish within ${String(policy.timeoutMs / 1_000)} s.`,
      );
      abort.abort(overdue);
      const ending = endingOf(overdue, job, policy);
      cancel = clock.after(ENDING_MS, () => onStuck(ending));
    });
    const { context, open, isCommitted } = createContext(jobs, job, abort.signal, options);
    try {
      if (job.attempt > policy.maximumAttempts)
        throw named(
          "NoAttemptLeft",
          `The process ended during the last of ${String(policy.maximumAttempts)} attempts.`,
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
      // Stops what else the handler has begun. After the deadline the error may be only that of the aborted signal.
      const thrown = overdue ?? error;
      abort.abort(error);
      await Promise.allSettled(open);
      return { ending: endingOf(thrown, job, policy), isCommitted: isCommitted() };
    } finally {
      cancel();
    }
  }

  function endingOf(thrown: unknown, job: Job, policy: Policy): Ending {
    const error = clean(textOf(thrown));
    const again = againAfter(thrown);
    if (again === "never") return { kind: "dead", error };
    if (again !== undefined) return postponed(again, error, job);
    if (job.attempt >= policy.maximumAttempts) return { kind: "dead", error };
    return { kind: "failed", error, delayMs: policy.backoffMs(job.attempt) };
  }

  function postponed(again: number | Date, error: string, job: Job): Ending {
    const nowMs = clock.nowMs();
    const leftMs = job.waitingSinceMs + options.config.maximumAgeMs - nowMs;
    if (leftMs <= 0)
      return { kind: "dead", error: `${error} It was put off for MAX_AGE_HOURS; requeue it to try again.` };
    const askedMs = typeof again === "number" ? Math.ceil(again * 1_000) : again.getTime() - nowMs;
    const delayMs = Math.max(SHORTEST_LATER_MS, Math.min(askedMs, leftMs, LONGEST_DELAY_MS));
    return { kind: "later", error, delayMs };
  }

  /** Calls `onDead`, before the job's death is written: after a crash in between it is called again. */
  async function reportDead(job: Job, policy: Policy, error: string): Promise<void> {
    const { body, handler, attempt, id } = job;
    const attempts = Math.min(attempt, policy.maximumAttempts);
    try {
      const dead = async () =>
        onDead?.({ event: eventSchema.parse(JSON.parse(body)), handler, attempts, error });
      await within(ON_DEAD_MS, dead(), clock);
    } catch (thrown) {
      log.error({ handler, event_id: id, error: clean(textOf(thrown)) }, "onDead failed");
    }
  }
}

/** The envelope; the intake has checked these two. */
const eventSchema = z.looseObject({ id: z.string(), type: z.string() });
type DeadEvent = z.infer<typeof eventSchema>;

/** What is thrown may have no text, such as an object without a prototype. */
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
