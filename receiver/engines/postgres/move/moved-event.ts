import type { EventSource, JobState } from "../../../engine.ts";

/** An event on its way from one engine to another, with all that is known of it. */
export type MovedEvent = {
  /** In the inbox that it comes from. */
  seq: number;
  id: string;
  /** Empty once it is pruned, as are `objectId` and `body`. */
  type: string;
  objectId: string | null;
  source: EventSource;
  receivedAtMs: number;
  duplicates: number;
  /** JSON. */
  trace: string | null;
  /** Null once it is pruned. */
  body: Uint8Array | null;
  /** Of a pruned one: whether it was handled. */
  handled: number;
  jobs: MovedJob[];
};

export type MovedJob = {
  /** Null: whoever wants the event, since nobody has looked at it; or what was done before handlers had names. */
  handler: string | null;
  state: JobState;
  attempts: number;
  handled: number;
  /** Of one that waits for another attempt. */
  dueAtMs: number | null;
  deferred: boolean;
  /** Its worker vanished. */
  suspect: boolean;
  finishedAtMs: number | null;
  lastError: string | null;
  requeuedAtMs: number | null;
  /** What an attempt has recorded for the next. */
  steps: { name: string; result: string }[];
};

/** A second id of an event, under which the service brought what reconcile had enqueued. */
export type MovedAlias = { id: string; of: string; receivedAtMs: number };

/** Whether nothing will change of an event any more, but by an operator. One without jobs is new. */
export function isFinished({ jobs, body }: MovedEvent): boolean {
  if (body === null) return true;
  return jobs.length > 0 && jobs.every(({ state }) => state !== "pending" && state !== "claimed");
}
