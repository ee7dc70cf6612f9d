import { setTimeout as sleep } from "node:timers/promises";
import { type Exchange } from "./delivery.ts";

/** How far the receiver's clock is ahead of ours lies between these, in seconds. */
export type ClockOffset = { least: number; most: number };

export type ReceiverClock = ReturnType<typeof createReceiverClock>;

/** How narrow the bounds should be, and how long to look for better ones: a Date header ticks once a second. */
const NARROW_SECONDS = 0.15;
const SAMPLES_MAXIMUM = 40;
/** The measurement ends after this many answers that took too long to give narrow bounds. */
const SLOW_SAMPLES = 3;
const SLOW_SECONDS = 0.5;
const SAMPLE_EVERY_MS = 40;

/**
 * What a receiver's clock says, as far as its answers tell: each Date header bounds the offset from both sides, and where
 * it ticks over between two answers the bounds are as narrow as the time between these.
 */
export function createReceiverClock(options: {
  /** The receiver runs on this machine, so that without a Date header its clock is taken for ours. */
  local: boolean;
  /** Wall time in milliseconds. */
  now: () => number;
}) {
  let least = Number.NEGATIVE_INFINITY;
  let most = Number.POSITIVE_INFINITY;

  function known(): ClockOffset | undefined {
    if (Number.isFinite(least)) return { least: Math.min(least, most), most: Math.max(least, most) };
    return options.local ? { least: 0, most: 0 } : undefined;
  }

  return {
    /** Learns from an exchange whose request went out at `sentAtMs` and whose answer has just arrived. */
    learn({ outcome }: Exchange, sentAtMs: number): void {
      if (outcome.kind === "no_answer") return;
      const header = outcome.headers.find(([name]) => name.toLowerCase() === "date")?.[1] ?? "";
      const dateSeconds = Date.parse(header) / 1_000;
      if (Number.isNaN(dateSeconds)) return;
      // Its clock stood between this second and the next when it answered, which was after sentAtMs and before now.
      least = Math.max(least, dateSeconds - options.now() / 1_000);
      most = Math.min(most, dateSeconds + 1 - sentAtMs / 1_000);
    },
    /** The bounds up to now; undefined when the receiver is elsewhere and sends no Date. */
    known,
    /** The bounds once `sample` has been answered often enough for them to be narrow, or as narrow as they get. */
    async measure(sample: () => Promise<unknown>): Promise<ClockOffset | undefined> {
      let slow = 0;
      for (let taken = 0; taken < SAMPLES_MAXIMUM; taken += 1) {
        const offset = known();
        if (offset !== undefined && offset.most - offset.least <= NARROW_SECONDS) return offset;
        const startedMs = performance.now();
        await sample();
        const tookSeconds = (performance.now() - startedMs) / 1_000;
        if (known() === undefined) return undefined;
        slow += tookSeconds > SLOW_SECONDS ? 1 : 0;
        // No bounds are narrower than the time between a request and its answer.
        if (slow === SLOW_SAMPLES) return known();
        await sleep(SAMPLE_EVERY_MS);
      }
      return known();
    },
  };
}
