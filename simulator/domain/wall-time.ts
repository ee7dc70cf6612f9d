import { clearTimeout, setTimeout } from "node:timers";

/**
 * The machine's own time, as the simulator needs it: wall time signs and stamps, monotonic time measures and limits.
 * It is never sped up, so a correct receiver with its 300 s window never notices what the schedule clock does.
 */
export type WallTime = {
  /** Milliseconds since 1970; may jump when somebody sets the machine's clock. */
  nowMs(): number;
  /** Milliseconds since an arbitrary start; never jumps. */
  monotonicMs(): number;
  /** Calls `action` once after `delayMs` (at most some seconds: long waits belong to the schedule). Answers its cancel. */
  after(delayMs: number, action: () => void): () => void;
};

/** Taken now: the fake timers of a test runner put their own in place of the global ones, and stop them. */
const monotonicMs = performance.now.bind(performance);

/** The real thing. A date that a test fakes dates signatures too: the receiver in that test has the same. */
export const systemTime: WallTime = {
  nowMs: () => Date.now(),
  monotonicMs,
  after(delayMs, action) {
    const timer = setTimeout(action, delayMs);
    return () => clearTimeout(timer);
  },
};
