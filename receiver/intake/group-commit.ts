import { createDeadlines, type Clock } from "../clock.ts";
import type { Acceptance, AcceptResult, Intake, NewEvent, Refusal } from "../engine.ts";

/** Bounds on what waits for its commit or is in one, and on one commit. */
const MAXIMUM_HELD_EVENTS = 10_000;
const MAXIMUM_HELD_BYTES = 64 * 1_048_576;
const MAXIMUM_BATCH_EVENTS = 1_024;
const MAXIMUM_BATCH_BYTES = 8 * 1_048_576;

/** A sender waits 10 s for its answer: one that can't be given by then had better be a clear no. */
const LIMIT_MS = 8_000;

export type Stored = { ok: true; acceptance: Acceptance } | Refusal;

/** Stores one event. The answer comes within 8 s of the call, always. */
export type GroupCommit = (event: NewEvent) => Promise<Stored>;

type Held = { event: NewEvent; answer: (stored: Stored) => void; inTime: () => void };

const OVERLOADED: Refusal = {
  ok: false,
  reason: "overloaded",
  detail: "Too many events wait to be stored.",
};
const TIMEOUT: Refusal = { ok: false, reason: "timeout", detail: "The database took too long to commit." };

/**
 * Makes one commit out of the events that arrive while the previous one is being synced, so that a slow disk costs one
 * sync a round and not one an event. Answers each event after the commit that holds it. What is more than the bounds
 * is refused at once as `overloaded`. What has no answer 8 s after it came is answered as `timeout`, whether it waits
 * behind a long commit, and is dropped then, or is in one, which may yet succeed: the sender's retry is then a duplicate.
 */
export function createGroupCommit(options: { accept: Intake["accept"]; clock: Clock }): GroupCommit {
  const limits = createDeadlines({ afterMs: LIMIT_MS, clock: options.clock });
  /** In the order in which they came. */
  const waiting = new Set<Held>();
  let heldEvents = 0;
  let heldBytes = 0;
  let running = false;

  return (event) =>
    new Promise((answer) => {
      if (heldEvents >= MAXIMUM_HELD_EVENTS || heldBytes + event.body.byteLength > MAXIMUM_HELD_BYTES) {
        answer(OVERLOADED);
        return;
      }
      heldEvents += 1;
      heldBytes += event.body.byteLength;
      const held: Held = { event, answer, inTime: limits(() => expire(held)) };
      waiting.add(held);
      if (running) return;
      running = true;
      // What else this turn of the event loop has read goes into the same commit.
      setImmediate(() => void commitAll());
    });

  async function commitAll(): Promise<void> {
    while (waiting.size > 0) {
      const batch = takeBatch();
      await commit(batch);
      batch.forEach(release);
    }
    running = false;
  }

  function takeBatch(): Held[] {
    const batch: Held[] = [];
    let bytes = 0;
    for (const held of waiting) {
      bytes += held.event.body.byteLength;
      if (batch.length > 0 && (batch.length >= MAXIMUM_BATCH_EVENTS || bytes > MAXIMUM_BATCH_BYTES)) break;
      waiting.delete(held);
      batch.push(held);
    }
    return batch;
  }

  async function commit(batch: readonly Held[]): Promise<void> {
    const result = await accept(batch.map(({ event }) => event));
    for (const [index, { answer, inTime }] of batch.entries()) {
      inTime();
      // Whoever was told that it took too long hears nothing more: a promise is settled once.
      const acceptance = result.ok ? result.acceptances[index] : undefined;
      if (acceptance) answer({ ok: true, acceptance });
      else answer(result.ok ? { ok: false, reason: "io_error", detail: "No word of it." } : result);
    }
  }

  async function accept(batch: readonly NewEvent[]): Promise<AcceptResult> {
    try {
      return await options.accept(batch);
    } catch (error) {
      return {
        ok: false,
        reason: "io_error",
        detail: error instanceof Error ? error.message : String(error),
      };
    }
  }

  function release({ event }: Held): void {
    heldEvents -= 1;
    heldBytes -= event.body.byteLength;
  }

  function expire(held: Held): void {
    held.answer(TIMEOUT);
    // What is in a commit keeps its room until the commit ends.
    if (waiting.delete(held)) release(held);
  }
}
