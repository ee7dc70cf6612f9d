import { z } from "zod";
import type { Ending, InboxEvent, InboxJob, JobError, JobHandler, JobState } from "./port.ts";

/** How many of a job's errors are kept. */
const ERRORS_KEPT = 5;
const CRASHED = "The worker process ended during this attempt.";

/** Why the jobs of a handler that no worker announces any more are ignored. */
export const GONE = "The handler is gone.";

/** What of its jobs is said of an event first. */
const URGENCY: readonly JobState[] = ["dead", "running", "waiting", "done", "ignored"];

/**
 * The key of a job: the value at the path in the envelope, or a list of the values at several paths. Null if one of them is
 * missing or null, or if there is no path: then the job waits for no other.
 */
export function keyOf(envelope: unknown, paths: readonly string[]): string | null {
  const values = paths.map((path) => valueAt(envelope, path) ?? null);
  if (values.length === 0 || values.includes(null)) return null;
  const [only] = values;
  if (values.length > 1) return JSON.stringify(values);
  return typeof only === "string" ? only : JSON.stringify(only);
}

function valueAt(envelope: unknown, path: string): unknown {
  let value = envelope;
  for (const name of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = Reflect.get(value, name);
  }
  return value;
}

/** The errors of a job, as stores keep them: the newest first. */
export const jobErrorsSchema = z.array(
  z.object({ attempt: z.number(), atMs: z.number(), error: z.string() }),
);

/** The errors that are kept of a job whose attempt has failed. */
export function withError(before: readonly JobError[], error: JobError): JobError[] {
  return [error, ...before].slice(0, ERRORS_KEPT);
}

/** How an attempt ends whose process died, by the policy of its handler. */
export function endingOfCrash(
  attempt: number,
  { maximumAttempts, backoffMs }: Pick<JobHandler, "maximumAttempts" | "backoffMs">,
): Ending {
  if (attempt >= maximumAttempts) return { kind: "dead", error: CRASHED };
  return { kind: "failed", error: CRASHED, delayMs: backoffMs(attempt) };
}

/** What is known of an event from its jobs. */
export function summaryOf(jobs: readonly InboxJob[]) {
  const isFinished = jobs.every(({ state }) => state === "done" || state === "ignored");
  const deferred = jobs.filter((job) => job.deferred);
  const failed = jobs.find(({ state }) => state === "dead") ?? jobs.find((job) => job.lastError !== null);
  return {
    state: URGENCY.find((state) => jobs.some((job) => job.state === state)) ?? "waiting",
    attempts: Math.max(0, ...jobs.map(({ attempts }) => attempts)),
    handled: isFinished ? Math.max(0, ...jobs.map(({ handled }) => handled)) : 0,
    finishedAtMs: isFinished ? extreme(Math.max, jobs, "finishedAtMs") : null,
    nextAttemptAtMs: extreme(Math.min, jobs, "nextAttemptAtMs"),
    deferredUntilMs: extreme(Math.max, deferred, "nextAttemptAtMs"),
    lastError: failed?.lastError ?? null,
  } satisfies Partial<InboxEvent>;
}

function extreme(
  choose: (...values: number[]) => number,
  jobs: readonly InboxJob[],
  name: "finishedAtMs" | "nextAttemptAtMs",
): number | null {
  const values = jobs.flatMap((job) => job[name] ?? []);
  return values.length === 0 ? null : choose(...values);
}
