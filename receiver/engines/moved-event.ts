import type { EventSource, EventState } from "../engine.ts";

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
  state: EventState;
  attempts: number;
  crashes: number;
  handled: number;
  /** Of an event that waits for its next attempt. */
  dueAtMs: number | null;
  finishedAtMs: number | null;
  lastError: string | null;
  body: Uint8Array | null;
};

/** A second id of an event, under which the service brought what reconcile had enqueued. */
export type MovedAlias = { id: string; of: string; receivedAtMs: number };

/** Whether nothing will change of an event any more, but by an operator. */
export function isFinished(state: EventState): boolean {
  return state !== "pending" && state !== "claimed";
}
