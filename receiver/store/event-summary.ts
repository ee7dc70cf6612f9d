import type { InboxEvent, InboxJob, JobState } from "./port.ts";

/** What of its jobs is said of an event first. */
const URGENCY: readonly JobState[] = ["dead", "running", "waiting", "done", "ignored"];

/** What is known of an event from its jobs. */
export function summaryOf(
  jobs: readonly InboxJob[],
): Pick<
  InboxEvent,
  "state" | "attempts" | "handled" | "finishedAtMs" | "nextAttemptAtMs" | "deferredUntilMs" | "lastError"
> {
  const isFinished = jobs.every(({ state }) => state === "done" || state === "ignored");
  const deferred = jobs.filter((job) => job.deferred);
  return {
    state: URGENCY.find((state) => jobs.some((job) => job.state === state)) ?? "waiting",
    attempts: Math.max(0, ...jobs.map(({ attempts }) => attempts)),
    handled: isFinished ? Math.max(0, ...jobs.map(({ handled }) => handled)) : 0,
    finishedAtMs: isFinished ? extreme(Math.max, jobs, "finishedAtMs") : null,
    nextAttemptAtMs: extreme(Math.min, jobs, "nextAttemptAtMs"),
    deferredUntilMs: extreme(Math.max, deferred, "nextAttemptAtMs"),
    lastError:
      (jobs.find(({ state }) => state === "dead") ?? jobs.find((job) => job.lastError !== null))?.lastError ??
      null,
  };
}

function extreme(
  choose: (...values: number[]) => number,
  jobs: readonly InboxJob[],
  name: "finishedAtMs" | "nextAttemptAtMs",
): number | null {
  const values = jobs.flatMap((job) => job[name] ?? []);
  return values.length === 0 ? null : choose(...values);
}
