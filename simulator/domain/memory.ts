import type { ClockMode, ScheduleClock } from "./clock.ts";
import type { Journal } from "./journal.ts";
import type { Meta } from "./meta.ts";
import type { Retention } from "./retention.ts";
import type { WallTime } from "./wall-time.ts";

/** New events and deliveries between two checks of retention. */
const MOST_GROWTH_ROWS = 200;

/** Stores schedule time and the last journal id with each change, to survive a kill -9, and removes any excess. */
export function createMemory(options: {
  meta: Meta;
  clock: ScheduleClock;
  wall: WallTime;
  journal: Journal;
  retention: Retention;
  wake: () => void;
}) {
  const { meta, clock, wall, journal, retention } = options;
  const growthToTrim = Math.max(1, Math.min(MOST_GROWTH_ROWS, retention.bounds.deliveries / 100));
  // A file may have been created with other bounds.
  let grown = growthToTrim;

  function remember(entriesToCome = 0): void {
    meta.setMoment(Math.floor(clock.now()), journal.lastId() + entriesToCome);
  }

  const stop = journal.watch(({ kind }) => {
    if (kind === "event.created" || kind === "delivery.changed") grown += 1;
    if (kind === "event.created" || kind === "clock.changed") remember();
  });

  return {
    remember,
    /** Must be called at least once a second, and after each change. */
    onLook: (): void => {
      // A restart begins at wall time: only the lead over it must be stored.
      if (clock.now() > wall.nowMs()) remember();
      if (grown < growthToTrim) return;
      const trimmed = retention.trim(clock.now());
      if (trimmed === "more") options.wake();
      else if (trimmed === "within") grown = 0;
    },
    close(): void {
      stop();
      remember();
    },
  };
}

/** A manual clock continues from where it stood; other clocks from now, but never backwards. */
export function scheduleStartMs(times: {
  mode: ClockMode;
  wallMs: number;
  keptMs: number | undefined;
}): number {
  const { mode, wallMs, keptMs } = times;
  if (keptMs === undefined) return wallMs;
  return mode === "manual" ? keptMs : Math.max(wallMs, keptMs);
}
