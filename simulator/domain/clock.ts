import type { WallTime } from "./wall-time.ts";

/**
 * `real`: schedule time runs as wall time does. `skip`: it runs while anything is in flight and jumps to the next due
 * attempt when nothing is. `manual`: it stands still until it is advanced.
 */
export const CLOCK_MODES = ["real", "skip", "manual"] as const;

export type ClockMode = (typeof CLOCK_MODES)[number];

export type ScheduleClock = ReturnType<typeof createClock>;

/**
 * Schedule time: decides when the next attempt is due and dates the world and its events. It never runs backwards:
 * where somebody sets the machine's clock back, it goes on from where it was; where the machine slept, or its clock was
 * set forward, that time has passed.
 */
export function createClock(options: { mode: ClockMode; wall: WallTime; startMs?: number }) {
  const { wall } = options;
  let mode = options.mode;
  let lastWallMs = wall.nowMs();
  let scheduleMs = options.startMs ?? lastWallMs;

  function now(): number {
    const wallMs = wall.nowMs();
    if (mode !== "manual") scheduleMs += Math.max(0, wallMs - lastWallMs);
    lastWallMs = wallMs;
    return scheduleMs;
  }

  return {
    get mode() {
      return mode;
    },
    /** Milliseconds since 1970 on the schedule's time line, whole. */
    now,
    /** Moves schedule time forward to `targetMs`; a moment that has passed already changes nothing. */
    moveTo(targetMs: number): void {
      scheduleMs = Math.max(now(), Math.ceil(targetMs));
    },
    /** Changes the mode; schedule time goes on from where it stands. */
    setMode(next: ClockMode): void {
      now();
      mode = next;
    },
  };
}
