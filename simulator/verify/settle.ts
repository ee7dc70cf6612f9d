import { setTimeout as sleep } from "node:timers/promises";
import type { HandledCounts } from "./check.ts";
import { isHandled } from "./judgement.ts";
import type { LedgerEntry } from "./ledger.ts";
import type { Observer, Reading } from "../observer/observer.ts";
import { sideBySide } from "./side-by-side.ts";

/** An event whose count is wanted, and whether it is expected to be handled at all. */
type Settling = Pick<LedgerEntry, "eventId" | "acknowledged" | "documented" | "superseded">;

const READERS = 8;
const FIRST_POLL_MS = 50;
const LONGEST_POLL_MS = 500;
/** The last reading gets this much, also when the time of the run is over. */
const LAST_READ_MS = 2_000;
/** Events deferred for at most this long are waited for: a busy service defers for seconds. */
const SOON_MS = 20_000;

/**
 * Waits until every acknowledged event of `entries` was handled, deferred for long or ignored, until `withinMs` have passed without
 * any progress, or until `leftMs` says that no time is left. All counts it returns were read after `quietMs` without a
 * delivery, and after the last event that it waited for.
 */
export async function settle(options: {
  entries: Settling[];
  observe: Observer;
  withinMs: number;
  quietMs: number;
  leftMs?: () => number;
  /** Called with the number of events awaited. */
  onWait?: (events: number) => void;
  now?: () => number;
}): Promise<HandledCounts> {
  const { entries, observe, quietMs, leftMs = () => Number.POSITIVE_INFINITY, now = Date.now } = options;
  let isOver = false;

  /** Waits as long as the number of `open` decreases. */
  async function waitFor(open: Settling[]): Promise<void> {
    let waiting = open;
    let dueAt = performance.now() + options.withinMs;
    for (let pollMs = FIRST_POLL_MS; waiting.length > 0; pollMs = Math.min(LONGEST_POLL_MS, pollMs * 1.5)) {
      isOver = leftMs() <= quietMs;
      if (isOver || performance.now() >= dueAt) return;
      options.onWait?.(waiting.length);
      // Less and less often: a receiver that is slow should not be busy with our questions.
      await sleep(pollMs);
      const readings = await readAll(waiting, observe, dueAt);
      const left = waiting.filter(({ eventId }) => isOpen(readings.get(eventId), now()));
      // A slow receiver gets more time while it makes progress.
      if (left.length < waiting.length) dueAt = performance.now() + options.withinMs;
      waiting = left;
    }
  }

  async function readAtRest(): Promise<Map<string, Reading>> {
    await sleep(quietMs);
    return readAll(entries, observe, performance.now() + Math.max(LAST_READ_MS, leftMs()));
  }

  let counts = await readAtRest();
  const open = entries.filter(
    ({ eventId, acknowledged, documented, superseded }) =>
      acknowledged && documented && !superseded && isOpen(counts.get(eventId), now()),
  );
  if (open.length > 0) {
    await waitFor(open);
    counts = await readAtRest();
  }
  return {
    isOver,
    of: (eventId) => counts.get(eventId) ?? { known: false, reason: `Event ${eventId} was not read back.` },
  };
}

function isOpen(reading: Reading | undefined, nowMs: number): boolean {
  if (reading?.known !== true || isHandled(reading) || reading.isIgnored === true) return false;
  const { deferredUntil } = reading;
  return deferredUntil === undefined || Date.parse(deferredUntil) - nowMs <= SOON_MS;
}

const NO_TIME: Reading = { known: false, reason: "There was no time left to read effects back." };

/** Reads all of `entries`, or as many as there is time for until `dueAt`. */
async function readAll(entries: Settling[], observe: Observer, dueAt: number): Promise<Map<string, Reading>> {
  const readings = await sideBySide(READERS, entries, async ({ eventId }): Promise<[string, Reading]> => {
    if (performance.now() > dueAt) return [eventId, NO_TIME];
    const reading = await observe(eventId);
    // A machine may stall for a moment: one reading that failed says nothing about the receiver.
    return [eventId, reading.known ? reading : await observe(eventId)];
  });
  return new Map(readings);
}
