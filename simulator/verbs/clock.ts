import type { Ahead, createAhead } from "../domain/ahead.ts";
import type { ClockMode, ScheduleClock } from "../domain/clock.ts";
import type { Dispatcher } from "../domain/dispatcher.ts";
import type { Journal } from "../domain/journal.ts";
import type { WallTime } from "../domain/wall-time.ts";

/** Operations on schedule time: read it, move it, change how it runs. `…Ms` are milliseconds since 1970. */
export function createClockVerbs(options: {
  clock: ScheduleClock;
  dispatcher: Dispatcher;
  journal: Journal;
  wall: WallTime;
  ahead: ReturnType<typeof createAhead>;
}) {
  const { clock, dispatcher, journal, wall, ahead } = options;
  return {
    get mode(): ClockMode {
      return clock.mode;
    },
    now: () => clock.now(),
    wallNowMs: () => wall.nowMs(),
    /** When the next attempt or step of a story is due; undefined when nothing waits. */
    nextDueMs: dispatcher.nextDueMs,
    ahead(seconds: number): Ahead {
      const nowMs = clock.now();
      return ahead({ nowMs, untilMs: nowMs + seconds * 1000 });
    },
    setMode(mode: ClockMode): void {
      clock.setMode(mode);
      journal.write({ kind: "clock.changed" });
      dispatcher.wake();
    },
    ...dispatcher.walk,
  };
}
