import { z } from "zod";
import type { Ending, EventFilter, InboxEvent, InboxJob, JobHandler, JobState } from "./port.ts";

/** The due time of a job that waits behind an earlier one with its key. */
export const HELD = Number.MAX_SAFE_INTEGER;

/** How many of a job's errors are kept. */
const ERRORS_KEPT = 5;
const CRASHED = "The worker process ended during this attempt.";

/** The cause of jobs that are ignored because no worker announces their handler any more. */
export const GONE = "The handler is gone.";

/** An event's state is the first of these that one of its jobs is in. */
const URGENCY: readonly JobState[] = ["dead", "running", "waiting", "done", "ignored"];

/**
 * The key of a job: the value at the path in the envelope, or a list of the values at several paths. Null if there is no
 * path, or if a value is missing or null: such a job has no order.
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

/** A job's errors as stores keep them: JSON, newest first. */
const jobErrorsSchema = z.array(z.object({ attempt: z.number(), atMs: z.number(), error: z.string() }));

function errorsOf(text: string | null): z.infer<typeof jobErrorsSchema> {
  return text === null ? [] : jobErrorsSchema.parse(JSON.parse(text));
}

/** What stores write when an attempt of a job ends. */
export function writtenOf(
  ending: Ending,
  { attempt, errors }: { attempt: number; errors: string | null },
  atMs: number,
) {
  const { kind } = ending;
  const reports = (kind === "dead" && ending.reports) || 0;
  const error = "error" in ending && { attempt: attempt - reports, atMs, error: ending.error };
  return {
    state: kind === "done" || kind === "dead" ? kind : "waiting",
    uncounted: kind === "later" || kind === "returned" ? 1 : reports,
    // A crash sets it too, so that a test that reads the inbox waits for the backoff instead of reporting a lost event.
    deferred: kind === "later" || (kind === "failed" && ending.crashed) ? 1 : 0,
    delayMs: "delayMs" in ending ? ending.delayMs : 0,
    errors: error ? JSON.stringify([error, ...errorsOf(errors)].slice(0, ERRORS_KEPT)) : errors,
    cause: kind === "dead" ? causeOfError(ending.error) : null,
  } as const;
}

/** The ending of an attempt whose process died, by its handler's policy. */
export function endingOfCrash(
  attempt: number,
  { maximumAttempts, backoffMs }: Pick<JobHandler, "maximumAttempts" | "backoffMs">,
): Ending {
  if (attempt >= maximumAttempts) return { kind: "dead", error: CRASHED };
  return { kind: "failed", error: CRASHED, delayMs: backoffMs(attempt), crashed: true };
}

/** Columns of an event and of a job. An event that no handler wanted has one ignored job, of a handler without a name. */
export type EventRow = Pick<
  InboxEvent,
  "seq" | "type" | "objectId" | "source" | "duplicates" | "receivedAtMs"
> & { handled: number | null; isPruned: 0 | 1 };
export type JobRow = Pick<InboxJob, "handler" | "state" | "attempts" | "handled" | "finishedAtMs"> & {
  dueAtMs: number;
  deferred: 0 | 1;
  errors: string | null;
  cause: string | null;
};

/** An event as operators see it. */
export function inboxEvent(
  id: string,
  { isPruned, handled, ...event }: EventRow,
  rows: readonly JobRow[],
): InboxEvent {
  const jobs = rows.map(inboxJob);
  if (isPruned === 1)
    return { ...event, id, ...summaryOf(jobs), state: "pruned", handled: handled ?? 0, jobs };
  return { ...event, id, ...summaryOf(jobs), jobs: jobs.filter(({ handler }) => handler !== "") };
}

function inboxJob({ dueAtMs, deferred, errors: text, cause, ...row }: JobRow): InboxJob {
  const errors = errorsOf(text);
  const isWaiting = row.state === "waiting";
  const held = isWaiting && dueAtMs === HELD;
  return {
    ...row,
    held,
    deferred: isWaiting && deferred === 1,
    nextAttemptAtMs: isWaiting && !held ? dueAtMs : null,
    lastError: row.state === "ignored" ? cause : (errors[0]?.error ?? null),
    errors,
  };
}

/** The parameters of a statement that lists events. `ofJob`: only events with a job of this state, handler and cause. */
export function valuesOf({ state, type, handler, cause }: EventFilter) {
  const ofJob = state === "pruned" ? undefined : state;
  return {
    // As databases keep text: they cannot hold half a surrogate pair.
    type: type?.toWellFormed() ?? null,
    isPruned: state === "pruned" ? 1 : 0,
    ofJob: ofJob === undefined && handler === undefined && cause === undefined ? 0 : 1,
    state: ofJob ?? null,
    handler: handler ?? null,
    cause: cause ?? null,
  };
}

/** What the jobs of an event say about it. */
function summaryOf(jobs: readonly InboxJob[]) {
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

/** How much of an error's text is read, and how much of it its cause keeps. */
const LONGEST_READ = 2_000;
const LONGEST_CAUSE = 200;

/** Parts of an error that vary, and their masks. A status comes first and stays, since it says what happened. */
const VARYING: [pattern: RegExp, mask: (found: string) => string][] = [
  [
    /\b(?:status|code|HTTP|answered|returned|responded|response|with):? (?:code )?[1-5]\d\d\b/,
    (status) => status,
  ],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/, () => "<id>"],
  [/\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?\b/, () => "<time>"],
  [/\b\d\d?:\d\d:\d\d\b/, () => "<time>"],
  [/[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/, () => "<address>"],
  [/\b\d{1,3}(?:\.\d{1,3}){3}\b(?::\d{1,5}\b)?/, () => "<address>"],
  [/(?:\[[0-9a-f:.]{2,45}\]|(?<![\w:])::1\b)(?::\d{1,5}\b)?/, () => "<address>"],
  [/\w+/, (word) => (isId(word) ? "<id>" : word.replace(/^\d+/, "<number>"))],
];
const ANY = new RegExp(VARYING.map(([{ source }]) => `(${source})`).join("|"), "gi");

/**
 * The cause in an error's text. Errors of the same kind have the same cause, so that they can be counted: `Customer
 * cus_9s6XKzkNRiz8 not found` becomes `Customer <id> not found`.
 */
export function causeOfError(text: string): string {
  return text
    .slice(0, LONGEST_READ)
    .replace(ANY, (found: string, ...groups: unknown[]) => {
      const mask = VARYING[groups.findIndex((group) => group !== undefined)]?.[1];
      return mask?.(found) ?? found;
    })
    .replaceAll(/<number>(?:[.,]<number>)+/g, "<number>")
    .replaceAll(/\s+/g, " ")
    .trim()
    .slice(0, LONGEST_CAUSE);
}

/** An id has a prefix (`cus_…`) or mixes letters with several digits; words of programs (`ERR_HTTP2`, `base64`) do not. */
function isId(word: string): boolean {
  const tail = word.slice(word.lastIndexOf("_") + 1);
  const hasPrefix = /^[a-z]{2,12}_/.test(word);
  const isMixed = /\d/.test(tail) || (/[a-z]/.test(tail) && /[A-Z]/.test(tail));
  if (hasPrefix && tail.length >= 6 && isMixed) return true;
  const digits = word.replaceAll(/\D/g, "").length;
  return word.length >= 8 && digits >= 3 && digits < word.length && !/^[A-Z]+_[A-Z0-9_]+$/.test(word);
}
