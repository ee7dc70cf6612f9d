import { setImmediate } from "node:timers";
import type { Clock } from "../clock.ts";
import type { Acceptance, Intake, NewEvent, Refusal } from "../engine.ts";

/** Bounds on what waits for its commit or is in one, and on one commit. */
const MAXIMUM_HELD_EVENTS = 10_000;
const MAXIMUM_HELD_BYTES = 64 * 1_048_576;
const MAXIMUM_BATCH_EVENTS = 1_024;
const MAXIMUM_BATCH_BYTES = 8 * 1_048_576;

/** The service waits 10 s for its answer, so it gets a 503 before that. */
const LIMIT_MS = 8_000;

export type Stored = { ok: true; acceptance: Acceptance } | Refusal;

/** Stores one event. The answer comes within 8 s of the call, always. */
export type GroupCommit = (event: NewEvent) => Promise<Stored>;

type Held = { event: NewEvent; answer: (stored: Stored) => void; cancel: () => void };

const OVERLOADED: Refusal = { ok: false, reason: "overloaded", detail: "Too many events wait to be stored." };
const TIMEOUT: Refusal = { ok: false, reason: "timeout", detail: "The database took too long to commit." };

/**
 * Commits together all events that arrive while the previous commit is being synced, so that a slow disk costs one sync a
 * batch and not one an event. Each event is answered after the commit that holds it. Events beyond the bounds are refused
 * at once as `overloaded`. An event without an answer after 8 s is answered `timeout`: when it still waits it is dropped;
 * when its commit is running, the commit may yet succeed, and the sender's retry is then a duplicate.
 */
export function createGroupCommit(options: { accept: Intake["accept"]; clock: Clock }): GroupCommit {
  /** In the order in which they came. */
  const waiting = new Set<Held>();
  let heldEvents = 0;
  let heldBytes = 0;
  let running = false;

  return (event) =>
    new Promise((answer) => {
      if (heldEvents >= MAXIMUM_HELD_EVENTS || heldBytes + event.body.byteLength > MAXIMUM_HELD_BYTES)
        return answer(OVERLOADED);
      heldEvents += 1;
      heldBytes += event.body.byteLength;
      const held: Held = { event, answer, cancel: options.clock.after(LIMIT_MS, () => expire(held)) };
      waiting.add(held);
      if (running) return;
      running = true;
      // Other events that this turn of the event loop reads go into the same commit.
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
    const result = await options.accept(batch.map(({ event }) => event)).catch(failed);
    for (const [index, { answer, cancel }] of batch.entries()) {
      cancel();
      // One that was answered `timeout` before keeps that answer: a promise is settled once.
      const acceptance = result.ok ? result.acceptances[index] : undefined;
      if (acceptance) answer({ ok: true, acceptance });
      else answer(result.ok ? failed("The engine said nothing of this event.") : result);
    }
  }

  function release({ event }: Held): void {
    heldEvents -= 1;
    heldBytes -= event.body.byteLength;
  }

  function expire(held: Held): void {
    held.answer(TIMEOUT);
    // An event whose commit is running is counted until the commit ends.
    if (waiting.delete(held)) release(held);
  }
}

/** A bug in the engine, which should never throw. */
function failed(error: unknown): Refusal {
  return { ok: false, reason: "io_error", detail: error instanceof Error ? error.message : String(error) };
}
