import type { MovedEvent, MovedJob } from "./moved-event.ts";
import { objectKey, storable, uuidOf } from "../text.ts";

/** Of an event that isn't finished where it comes from: nobody is offered it. */
export const HELD = {
  offer: "held",
  state: null,
  attempts: 0,
  dueAtMs: null,
  finishedAtMs: null,
  lastError: null,
};

/** Columns of the recordset that `rowOf` makes, of what was done with an event as a whole. */
export function eventColumns(): string {
  return `offer text, state text, attempts integer, "dueAtMs" double precision, "finishedAtMs" double precision, "lastError" text`;
}

/** The row of an event; what stands for no handler by name is the event's own. */
export function rowOf(event: MovedEvent, n: number): Record<string, unknown> {
  const { id, type, objectId, source, receivedAtMs, duplicates, body, jobs, handled } = event;
  // What stands for no handler by name.
  const whole = jobs.find(({ handler }) => handler === null);
  const isWaiting = jobs.length === 0 || whole?.state === "pending";
  const offer = whole?.state === "ignored" ? "unwanted" : "offered";
  return {
    n,
    id: uuidOf(id),
    type: storable(type),
    object: objectId === null ? null : objectKey(type, objectId),
    reconciled: source === "reconcile",
    receivedAtMs,
    duplicates,
    trace: event.trace === null ? null : (JSON.parse(event.trace) as unknown),
    pruned: body === null,
    handled,
    offer: isWaiting ? "waiting" : offer,
    state: whole?.state === "done" || whole?.state === "dead" ? whole.state : null,
    attempts: whole?.attempts ?? 0,
    dueAtMs: whole?.dueAtMs ?? null,
    finishedAtMs: whole?.finishedAtMs ?? null,
    lastError: whole?.lastError == null ? null : storable(whole.lastError),
  };
}

const STATES = {
  pending: "retry",
  claimed: "retry",
  done: "completed",
  dead: "failed",
  ignored: "cancelled",
};

/** Rows of the jobs that have a handler's name. */
export function jobRows({ jobs }: MovedEvent, n: number): object[] {
  return jobs.flatMap(({ handler, lastError, deferred, requeuedAtMs, ...job }: MovedJob) => {
    if (handler === null) return [];
    const isFresh = job.state === "pending" && job.attempts === 0 && !deferred;
    const waits = job.suspect ? 2 : 1;
    return {
      n,
      handler,
      state: isFresh ? "created" : STATES[job.state],
      priority: isFresh ? 0 : waits,
      attempts: job.attempts,
      dueAtMs: job.dueAtMs,
      finishedAtMs: job.finishedAtMs,
      data: requeuedAtMs === null ? null : { requeuedAtMs },
      output: lastError === null ? null : { error: storable(lastError), ...(deferred ? { deferred } : {}) },
    };
  });
}
