import type { WallTime } from "../../simulator/domain/wall-time.ts";

type Timer = { atMs: number; order: number; action: () => void };

/** A machine's clock that stands still until a test moves it, late in a second; timers fire in the order of their times. */
export function createVirtualWall(startMs = Date.UTC(2026, 0, 31, 12, 0, 0, 700)) {
  let wallMs = startMs;
  let monotonicMs = 0;
  let order = 0;
  let timers: Timer[] = [];

  const wall: WallTime = {
    nowMs: () => wallMs,
    monotonicMs: () => monotonicMs,
    after(delayMs, action) {
      const timer = { atMs: monotonicMs + delayMs, order: order++, action };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
  };

  return {
    ...wall,
    /** Lets time pass: wall and monotonic clock move, and timers that fall due fire. */
    pass(ms: number): void {
      const targetMs = monotonicMs + ms;
      for (;;) {
        const next = timers
          .filter(({ atMs }) => atMs <= targetMs)
          .toSorted((a, b) => a.atMs - b.atMs || a.order - b.order)[0];
        if (next === undefined) break;
        timers = timers.filter((timer) => timer !== next);
        wallMs += Math.max(0, next.atMs - monotonicMs);
        monotonicMs = Math.max(monotonicMs, next.atMs);
        next.action();
      }
      wallMs += targetMs - monotonicMs;
      monotonicMs = targetMs;
    },
    /** As if the clock were set or the machine woke from sleep: wall time jumps, and timers do not notice. */
    jump(ms: number): void {
      wallMs += ms;
    },
    waitingTimers: () => timers.length,
    nextTimerInMs: (): number | undefined =>
      timers.length === 0 ? undefined : Math.min(...timers.map(({ atMs }) => atMs)) - monotonicMs,
  };
}

export type VirtualWall = ReturnType<typeof createVirtualWall>;
