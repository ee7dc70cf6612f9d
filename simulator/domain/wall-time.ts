import { clearTimeout, setTimeout } from "node:timers";

/** The machine's own time: wall time signs and stamps, monotonic time limits. It is never sped up. */
export type WallTime = {
  /** Milliseconds since 1970; may jump when the machine's clock is set. */
  nowMs(): number;
  /** Milliseconds since an arbitrary start; never jumps. */
  monotonicMs(): number;
  /** Calls `action` once after `delayMs` (less than 24 days, since timers overflow). Returns a function that cancels it. */
  after(delayMs: number, action: () => void): () => void;
};

/** Read at import, since fake timers of a test runner replace and stop the global one. */
const monotonicMs = performance.now.bind(performance);

/** The machine's time. A faked `Date` dates signatures too: the receiver in that test has the same. */
export const systemTime: WallTime = {
  nowMs: () => Date.now(),
  monotonicMs,
  after(delayMs, action) {
    const timer = setTimeout(action, delayMs);
    return () => clearTimeout(timer);
  },
};
