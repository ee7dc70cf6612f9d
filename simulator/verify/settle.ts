import { setTimeout as sleep } from "node:timers/promises";
import type { HandledCounts } from "./check.ts";
import type { LedgerEntry } from "./ledger.ts";
import type { Observer, Reading } from "../observer/observer.ts";

/** An event whose count is wanted, and whether it is expected to be handled at all. */
type Settling = Pick<LedgerEntry, "eventId" | "acknowledgedAtMs" | "documented"> & { superseded?: boolean };

const READERS = 8;
const FIRST_POLL_MS = 50;
const LONGEST_POLL_MS = 500;

/**
 * Waits until every acknowledged event of `entries` was handled, or `withinMs` have passed without any progress. The
 * counts it answers were all read after `quietMs` in which nothing was sent.
 */
export async function settle(options: {
  entries: Settling[];
  observe: Observer;
  withinMs: number;
  quietMs: number;
}): Promise<HandledCounts> {
  const { entries, observe, quietMs } = options;
  let waiting = entries.filter(
    ({ acknowledgedAtMs, documented, superseded }) =>
      acknowledgedAtMs !== undefined && documented && superseded !== true,
  );
  let dueAt = performance.now() + options.withinMs;
  for (;;) {
    await sleep(quietMs);
    const counts = await readAll(entries, observe);
    const left = waiting.filter((entry) => isUnhandled(counts.get(entry.eventId)));
    // A slow receiver gets its time as long as it moves.
    if (left.length < waiting.length) dueAt = performance.now() + options.withinMs;
    if (left.length === 0 || performance.now() >= dueAt) {
      return {
        of: (eventId) =>
          counts.get(eventId) ?? { known: false, reason: `Event ${eventId} was not read back.` },
      };
    }
    waiting = await stillUnhandled(left, observe, dueAt);
    if (waiting.length < left.length) dueAt = performance.now() + options.withinMs;
  }
}

/** Reads `entries` again and again until one of them was handled, or `dueAt`; answers what is left. */
async function stillUnhandled(entries: Settling[], observe: Observer, dueAt: number): Promise<Settling[]> {
  // Less and less often: a receiver that is slow should not be busy with our questions.
  for (
    let pollMs = FIRST_POLL_MS;
    performance.now() < dueAt;
    pollMs = Math.min(LONGEST_POLL_MS, pollMs * 1.5)
  ) {
    const counts = await readAll(entries, observe);
    const left = entries.filter((entry) => isUnhandled(counts.get(entry.eventId)));
    if (left.length < entries.length) return left;
    await sleep(pollMs);
  }
  return entries;
}

function isUnhandled(reading: Reading | undefined): boolean {
  return reading?.known === true && reading.count === 0;
}

async function readAll(entries: Settling[], observe: Observer): Promise<Map<string, Reading>> {
  const readings = new Map<string, Reading>();
  const queue = entries.map(({ eventId }) => eventId);
  await Promise.all(
    Array.from({ length: READERS }, async () => {
      for (let eventId = queue.pop(); eventId !== undefined; eventId = queue.pop()) {
        const reading = await observe(eventId);
        // A machine may stall for a moment: one reading that failed says nothing about the receiver.
        readings.set(eventId, reading.known ? reading : await observe(eventId));
      }
    }),
  );
  return readings;
}
