import type { Clock } from "../clock.ts";
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

type Held = { event: NewEvent; arrivedAtMs: number; answer: (stored: Stored) => void; answered: boolean };

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
  const { clock } = options;
  let waiting: Held[] = [];
  let committing: Held[] = [];
  let heldEvents = 0;
  let heldBytes = 0;
  let running = false;
  let watching = false;

  return async (event) =>
    new Promise((answer) => {
      if (heldEvents >= MAXIMUM_HELD_EVENTS || heldBytes + event.body.byteLength > MAXIMUM_HELD_BYTES) {
        answer(OVERLOADED);
        return;
      }
      heldEvents += 1;
      heldBytes += event.body.byteLength;
      waiting.push({ event, arrivedAtMs: clock.monotonicMs(), answer, answered: false });
      watch();
      if (running) return;
      running = true;
      // What else this turn of the event loop has read goes into the same commit.
      setImmediate(() => void commitAll());
    });

  async function commitAll(): Promise<void> {
    while (waiting.length > 0) {
      committing = takeBatch();
      await commit(committing);
      committing.forEach(release);
      committing = [];
    }
    running = false;
  }

  function takeBatch(): Held[] {
    let events = 0;
    let bytes = 0;
    for (const { event } of waiting) {
      bytes += event.body.byteLength;
      if (events > 0 && (events >= MAXIMUM_BATCH_EVENTS || bytes > MAXIMUM_BATCH_BYTES)) break;
      events += 1;
    }
    const batch = waiting.slice(0, events);
    waiting = waiting.slice(events);
    return batch;
  }

  async function commit(batch: readonly Held[]): Promise<void> {
    const result = await accept(batch.map(({ event }) => event));
    for (const [index, held] of batch.entries()) {
      const acceptance = result.ok ? result.acceptances[index] : undefined;
      if (acceptance) answer(held, { ok: true, acceptance });
      else answer(held, result.ok ? { ok: false, reason: "io_error", detail: "No word of it." } : result);
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

  function answer(held: Held, stored: Stored): void {
    if (held.answered) return;
    held.answered = true;
    held.answer(stored);
  }

  function release({ event }: Held): void {
    heldEvents -= 1;
    heldBytes -= event.body.byteLength;
  }

  /** One timer for all: they come in the order in which their time runs out. */
  function watch(): void {
    if (watching) return;
    const oldest = committing.find(({ answered }) => !answered) ?? waiting[0];
    if (!oldest) return;
    watching = true;
    clock.after(Math.max(0, oldest.arrivedAtMs + LIMIT_MS - clock.monotonicMs()), () => {
      watching = false;
      expire(clock.monotonicMs() - LIMIT_MS);
      watch();
    });
  }

  function expire(arrivedByMs: number): void {
    const isLate = ({ arrivedAtMs }: Held): boolean => arrivedAtMs <= arrivedByMs;
    const late = waiting.filter(isLate);
    waiting = waiting.filter((held) => !isLate(held));
    late.forEach(release);
    for (const held of [...committing.filter(isLate), ...late]) answer(held, TIMEOUT);
  }
}
