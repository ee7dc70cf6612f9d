/** Where the receiver gets the time from, and the only thing that sets timers. */
export type Clock = {
  /** Milliseconds of Unix time. May jump, in both directions. */
  nowMs: () => number;
  /** Milliseconds that only ever grow, for measuring. */
  monotonicMs: () => number;
  /** Resolves after `ms`, or at once when `signal` is aborted. */
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Calls `run` after `ms`, unless the returned function is called first. Never keeps the process alive. */
  after: (ms: number, run: () => void) => () => void;
};

/** A timer of 2^31 ms or more fires at once, so no wait may be longer. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The real time. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: async (ms, signal) =>
    new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER_MS));
      if (signal?.aborted === true) end();
      else signal?.addEventListener("abort", end);
    }),
  after: (ms, run) => {
    const timer = setTimeout(run, Math.min(ms, LONGEST_TIMER_MS));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/**
 * Answers a function that calls `pass` after `afterMs`, unless what it answers is called first. Deadlines that are all
 * equally far away need one timer between them, and thousands of attempts a second come and go without one of their own.
 */
export function createDeadlines({
  afterMs,
  clock,
}: {
  afterMs: number;
  clock: Clock;
}): (pass: () => void) => () => void {
  // In the order in which they were set, which is the order in which they come.
  const set = new Set<{ atMs: number; pass: () => void }>();
  let armed = false;

  return (pass) => {
    const deadline = { atMs: clock.monotonicMs() + afterMs, pass };
    set.add(deadline);
    if (!armed) arm();
    return () => set.delete(deadline);
  };

  function arm(): void {
    const [first] = set;
    armed = first !== undefined;
    if (first) clock.after(Math.max(0, first.atMs - clock.monotonicMs()), passAll);
  }

  function passAll(): void {
    for (const deadline of set) {
      if (deadline.atMs > clock.monotonicMs()) break;
      set.delete(deadline);
      deadline.pass();
    }
    arm();
  }
}
