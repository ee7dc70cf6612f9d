import type { Exchange } from "./delivery.ts";

/**
 * How far the receiver's clock is ahead of ours, in seconds: most likely `at`, and between `least` and `most`. `exact`: there
 * is no doubt, so a limit can be tested to the second.
 */
export type ClockReading = { at: number; least: number; most: number; exact: boolean };

export type ReceiverClock = ReturnType<typeof createReceiverClock>;

/** A server may keep its Date header for a second before it writes a new one (uvicorn, nginx and others do). */
const STALE_SECONDS = 1.05;
/** On this machine the clock is ours: bounds that miss it by this little are rounding errors. */
const ROUNDING_SECONDS = 0.02;

/**
 * What a receiver's clock says, as far as its answers tell: each Date header bounds the offset from both sides, and where
 * it ticks over between two answers the bounds are as narrow as the time between these.
 */
export function createReceiverClock(options: {
  /** The receiver runs on this machine, so that its clock is taken for ours unless its Date headers rule that out. */
  local: boolean;
  /** Wall time in milliseconds. */
  now: () => number;
}) {
  let least = Number.NEGATIVE_INFINITY;
  let most = Number.POSITIVE_INFINITY;

  function known(): ClockReading | undefined {
    if (!Number.isFinite(least)) return options.local ? { at: 0, least: 0, most: 0, exact: true } : undefined;
    const latest = Math.max(most, least) + STALE_SECONDS;
    const isOurs = options.local && least <= ROUNDING_SECONDS && most >= -ROUNDING_SECONDS;
    if (isOurs && least <= most + ROUNDING_SECONDS) return { at: 0, least: 0, most: 0, exact: true };
    const mayBeOurs = options.local && least <= 0 && latest >= 0;
    return {
      at: mayBeOurs ? 0 : Math.max(least, most),
      least: Math.min(least, most),
      most: latest,
      exact: false,
    };
  }

  return {
    /** Learns from an exchange whose request went out at `sentAtMs` and whose answer has just arrived. */
    learn({ outcome }: Exchange, sentAtMs: number): void {
      if (outcome.kind === "no_answer") return;
      const header = outcome.headers.find(([name]) => name.toLowerCase() === "date")?.[1] ?? "";
      const dateSeconds = Date.parse(header) / 1_000;
      if (Number.isNaN(dateSeconds)) return;
      // Its clock stood between this second and the next when the header was made, before now.
      least = Math.max(least, dateSeconds - options.now() / 1_000);
      most = Math.min(most, dateSeconds + 1 - sentAtMs / 1_000);
    },
    /** The bounds up to now; undefined when the receiver is elsewhere and sends no Date. */
    known,
  };
}
