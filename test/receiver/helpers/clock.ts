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
