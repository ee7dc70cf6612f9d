import type { Clock } from "../clock.ts";
import type { Acceptance, Intake, NewEvent, Refusal } from "../store/port.ts";

/** The most events that wait for a commit or are in one, and the most in one commit. */
const MAXIMUM_HELD_EVENTS = 10_000;
const MAXIMUM_HELD_BYTES = 64 * 1_048_576;
const MAXIMUM_BATCH_EVENTS = 1_024;
const MAXIMUM_BATCH_BYTES = 8 * 1_048_576;

/** The service waits 10 s for its answer, so a 503 must be sent before that. */
const LIMIT_MS = 8_000;

export type Stored = { ok: true; acceptance: Acceptance } | Refusal;

/** Stores one event. Always resolves within 8 s. */
export type GroupCommit = (event: NewEvent) => Promise<Stored>;

type Held = { event: NewEvent; answer: (stored: Stored) => void };

const OVERLOADED: Refusal = { ok: false, reason: "overloaded", detail: "Too many events are waiting." };
const TIMEOUT: Refusal = { ok: false, reason: "timeout", detail: "The database took too long to commit." };

/**
 * Commits all events that arrive while the previous commit is being synced together: a slow disk costs one sync per batch,
 * not one per event. Events beyond the limits are refused at once as `overloaded`. After 8 s an event is answered `timeout`;
 * it may still be stored later, and the sender's retry is then a duplicate.
 */
export function createGroupCommit({
  accept,
  clock,
}: {
  accept: Intake["accept"];
  clock: Clock;
}): GroupCommit {
  const waiting: Held[] = [];
  let heldEvents = 0;
  let heldBytes = 0;
  let isRunning = false;

  return async (event) => {
    if (heldEvents >= MAXIMUM_HELD_EVENTS || heldBytes + event.body.byteLength > MAXIMUM_HELD_BYTES)
      return OVERLOADED;
    heldEvents += 1;
    heldBytes += event.body.byteLength;
    return new Promise((answer) => {
      const cancel = clock.after(LIMIT_MS, () => answer(TIMEOUT));
      waiting.push({
        event,
        answer: (stored) => {
          cancel();
          answer(stored);
        },
      });
      if (!isRunning) void commitAll();
    });
  };

  async function commitAll(): Promise<void> {
    isRunning = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, batchSize());
      const result = await accept(batch.map(({ event }) => event)).catch(failed);
      for (const [index, { event, answer }] of batch.entries()) {
        heldEvents -= 1;
        heldBytes -= event.body.byteLength;
        const acceptance = result.ok ? result.acceptances[index] : undefined;
        if (!result.ok) answer(result);
        else if (acceptance) answer({ ok: true, acceptance });
      }
    }
    isRunning = false;
  }

  /** How many events the next commit takes: at least one, and no more than can be written in one turn of the event loop. */
  function batchSize(): number {
    let bytes = 0;
    const beyond = waiting.findIndex(({ event }, index) => {
      bytes += event.body.byteLength;
      return index === MAXIMUM_BATCH_EVENTS || bytes > MAXIMUM_BATCH_BYTES;
    });
    return beyond === -1 ? waiting.length : Math.max(1, beyond);
  }
}

/** A bug in the store must not leave requests without an answer. */
function failed(error: unknown): Refusal {
  return { ok: false, reason: "io_error", detail: `a bug in the store: ${String(error)}` };
}
