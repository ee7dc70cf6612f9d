import { setTimeout as sleep } from "node:timers/promises";
import type { Handled, HandledCounts } from "./check.ts";
import type { LedgerEntry } from "./ledger.ts";
import type { Observer } from "./observe.ts";

const READERS = 8;

/**
 * Waits until every acknowledged event of `entries` was handled, or `withinMs` have passed without any progress, then
 * `quietMs` more in which nothing should change, and reads all counts.
 */
export async function settle(options: {
  entries: LedgerEntry[];
  observe: Observer;
  withinMs: number;
  quietMs: number;
}): Promise<HandledCounts> {
  const { entries, observe } = options;
  let waiting = entries.filter(
    ({ acknowledgedAtMs, documented }) => acknowledgedAtMs !== undefined && documented,
  );
  let dueAt = performance.now() + options.withinMs;
  while (waiting.length > 0 && performance.now() < dueAt) {
    const readings = await readAll(waiting, observe);
    const left = waiting.filter(({ eventId }) => {
      const reading = readings.get(eventId);
      return reading?.known === true && reading.count === 0;
    });
    // A slow receiver gets its time as long as it moves.
    if (left.length < waiting.length) dueAt = performance.now() + options.withinMs;
    waiting = left;
    if (waiting.length > 0) await sleep(50);
  }
  await sleep(options.quietMs);

  const counts = await readAll(entries, observe);
  return {
    of: (eventId) =>
      counts.get(eventId) ?? { known: false, reason: `Event ${eventId} was not part of what was read.` },
  };
}

async function readAll(entries: LedgerEntry[], observe: Observer): Promise<Map<string, Handled>> {
  const readings = new Map<string, Handled>();
  const queue = entries.map(({ eventId }) => eventId);
  await Promise.all(
    Array.from({ length: READERS }, async () => {
      for (let eventId = queue.pop(); eventId !== undefined; eventId = queue.pop()) {
        readings.set(eventId, await observe(eventId));
      }
    }),
  );
  return readings;
}
