import type { EventState, InboxEvent, InboxJob } from "../engine.ts";

/** What is known of an event from its jobs. An event without jobs counts as one that no handler wanted. */
export function summaryOf(
  jobs: readonly InboxJob[],
): Pick<
  InboxEvent,
  "state" | "attempts" | "handled" | "finishedAtMs" | "nextAttemptAtMs" | "deferredUntilMs" | "lastError"
> {
  const state = stateOf(jobs.map((job) => job.state));
  const of = <Value>(...values: (Value | null)[]): Value[] => values.filter((value) => value !== null);
  const waiting = jobs.filter((job) => job.state === "pending");
  const deferred = waiting.filter((job) => job.deferred);
  const dead = jobs.find((job) => job.state === "dead" && job.lastError !== null);
  const failed = jobs.find((job) => job.lastError !== null);
  const isFinished = state !== "pending" && state !== "claimed";
  return {
    state,
    attempts: Math.max(0, ...jobs.map(({ attempts }) => attempts)),
    handled: state === "done" ? Math.max(0, ...jobs.map(({ handled }) => handled)) : 0,
    finishedAtMs: isFinished ? orNull(of(...jobs.map((job) => job.finishedAtMs)), Math.max) : null,
    nextAttemptAtMs: orNull(of(...waiting.map((job) => job.nextAttemptAtMs)), Math.min),
    deferredUntilMs: orNull(of(...deferred.map((job) => job.nextAttemptAtMs)), Math.max),
    lastError: (dead ?? failed)?.lastError ?? null,
  };
}

function stateOf(states: readonly InboxJob["state"][]): EventState {
  for (const state of ["claimed", "pending", "dead", "done"] as const)
    if (states.includes(state)) return state;
  return "ignored";
}

function orNull(values: readonly number[], choose: (...values: number[]) => number): number | null {
  return values.length === 0 ? null : choose(...values);
}
