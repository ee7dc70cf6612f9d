import { clearTimeout, setTimeout } from "node:timers";

/** The time and timers, passed in so that tests can control them. */
export type Clock = {
  /** Milliseconds of Unix time. May jump, in both directions. */
  nowMs: () => number;
  /** Milliseconds that only increase, for measuring. */
  monotonicMs: () => number;
  /** Resolves after `ms`, or at once when `signal` is aborted. */
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Calls `run` after `ms`, unless the returned function is called first. Never keeps the process alive. */
  after: (ms: number, run: () => void) => () => void;
};

/** A timer of 2^31 ms or more fires at once, so no wait may be longer. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The real time. Fake timers in tests do not affect it. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: performance.now.bind(performance),
  // node:timers/promises creates an error for each sleep that a signal ends, and a busy worker ends many.
  sleep: async (ms, signal) =>
    new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER_MS));
      if (signal?.aborted) end();
      else signal?.addEventListener("abort", end);
    }),
  after: (ms, run) => {
    const timer = setTimeout(run, Math.min(ms, LONGEST_TIMER_MS)).unref();
    return () => clearTimeout(timer);
  },
};

/** The result of `work`, or undefined if it takes longer than `ms`. */
export async function within<Result>(
  ms: number,
  work: Promise<Result>,
  clock: Clock,
): Promise<Result | undefined> {
  const over = new AbortController();
  const late = clock.sleep(ms, over.signal).then(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}
