import type { Emitter } from "./emitter.ts";
import type { WallTime } from "./wall-time.ts";
import type { World } from "./world/world.ts";

/** Longest pause between two events, since timers overflow after 24 days. */
const LONGEST_WAIT_MS = 20 * 86_400_000;

/**
 * Lets calls come in by themselves at random moments, at a given average number a minute. The minutes are
 * those of the wall clock, whatever schedule time does: a clock that skips would otherwise never come to rest.
 */
export function createTraffic(options: { world: World; emitter: Emitter; wall: WallTime }) {
  const { world, emitter, wall } = options;
  let perMinute = 0;
  let index = 0;
  let cancel = () => {};

  function next(): void {
    cancel();
    if (perMinute === 0) return;
    const { afterMs, type, orgId } = world.traffic(index, perMinute);
    cancel = wall.after(Math.min(afterMs, LONGEST_WAIT_MS), () => {
      index += 1;
      emitter.live({ type, orgId });
      next();
    });
  }

  return {
    perMinute: () => perMinute,
    /** 0 stops it. */
    set(rate: number): void {
      perMinute = rate;
      next();
    },
  };
}
