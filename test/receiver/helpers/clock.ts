import { systemClock, type Clock } from "../../../receiver/clock.ts";

/** The real clock, except that its wall time can be moved: for leases and backoffs without the waiting. */
export function movableClock(): Clock & { move: (ms: number) => void } {
  let offsetMs = 0;
  return {
    ...systemClock,
    nowMs: () => systemClock.nowMs() + offsetMs,
    move: (ms) => {
      offsetMs += ms;
    },
  };
}

/** A clock that stands still until it is moved, and then runs due timers in order; only its wall time goes on. */
export function stoppedTimers(): ReturnType<typeof standingClock> {
  return { ...standingClock(), nowMs: systemClock.nowMs };
}

/** A clock that stands still until it is moved, and then runs due timers in order. */
export function standingClock(): Clock & { pass: (ms: number) => Promise<void>; waiting: () => number } {
  let nowMs = 0;
  const timers = new Set<{ atMs: number; run: () => void }>();
  const after: Clock["after"] = (ms, run) => {
    const timer = { atMs: nowMs + ms, run };
    timers.add(timer);
    return () => void timers.delete(timer);
  };
  return {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    after,
    /** How many timers are set. */
    waiting: () => timers.size,
    sleep: async (ms, signal) =>
      new Promise((resolve) => {
        const cancel = after(ms, resolve);
        signal?.addEventListener("abort", () => {
          cancel();
          resolve();
        });
      }),
    pass: async (ms) => {
      const untilMs = nowMs + ms;
      for (;;) {
        const [next] = [...timers].toSorted((a, b) => a.atMs - b.atMs);
        if (!next || next.atMs > untilMs) break;
        timers.delete(next);
        nowMs = next.atMs;
        next.run();
        // The woken code may set the next timer.
        await new Promise(setImmediate);
      }
      nowMs = untilMs;
      await new Promise(setImmediate);
    },
  };
}
