import { setTimeout as pause } from "node:timers/promises";
import type { Observer, Reading } from "../observer/observer.ts";

/** What a receiver says became of an event: how often it was handled, in words. */
export type Observation = { handled: number | undefined; words: string };

const PATIENCE_MS = 20_000;
const POLL_EVERY_MS = 50;
/** States in which a receiver will not handle an event any more. */
const FINAL_STATES: readonly (string | undefined)[] = ["dead", "ignored"];

/** Asks until the event was handled, or says why it was not within 20 s, or until `signal` ended the wait. */
export async function observe(
  observer: Observer,
  eventId: string,
  options: { signal: AbortSignal; patienceMs?: number },
): Promise<Observation> {
  const { signal, patienceMs = PATIENCE_MS } = options;
  const deadlineMs = performance.now() + patienceMs;
  for (;;) {
    const reading = await observer(eventId, signal);
    const isOver = reading.known && (reading.count > 0 || FINAL_STATES.includes(reading.state));
    if (isOver || signal.aborted) return inWords(reading, "");
    if (performance.now() >= deadlineMs) return inWords(reading, ` after ${patienceMs / 1000} s`);
    await pause(POLL_EVERY_MS, undefined, { signal }).catch(() => {});
  }
}

function inWords(reading: Reading, after: string): Observation {
  if (!reading.known) return { handled: undefined, words: reading.reason + after };
  const { count, state = "handled", duplicates = 0 } = reading;
  const times = count === 1 ? "once" : `${count} times`;
  const again = duplicates === 0 ? "" : `, ${duplicates} duplicate${duplicates === 1 ? "" : "s"} seen`;
  return { handled: count, words: `${state}, handled ${times}${again}${after}` };
}
