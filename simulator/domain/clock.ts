import type { WallTime } from "./wall-time.ts";

/** `real` runs as wall time, `skip` jumps to the next due attempt when nothing is in flight, `manual` stands still. */
export const CLOCK_MODES = ["real", "skip", "manual"] as const;

export type ClockMode = (typeof CLOCK_MODES)[number];

export type ScheduleClock = ReturnType<typeof createClock>;

/** Schedule time dates the world and decides what is due. It never goes back, even if the machine's clock does. */
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
    now,
    /** Moves schedule time forward to `targetMs`; a past time changes nothing. */
    moveTo(targetMs: number): void {
      scheduleMs = Math.max(now(), Math.ceil(targetMs));
    },
    setMode(next: ClockMode): void {
      now();
      mode = next;
    },
  };
}
