import { EVENT_TYPES, type EventType } from "../../shared/events.ts";
import type { Emitter } from "./emitter.ts";
import { createRandom } from "./random.ts";
import type { WallTime } from "./wall-time.ts";
import { EVENT_KINDS } from "./world/event-types.ts";
import type { Business } from "./world/organizations.ts";
import type { World } from "./world/world.ts";

/** The longest pause between two events, since timers overflow after 24 days. */
const LONGEST_WAIT_MS = 20 * 86_400_000;
const MINUTE_MS = 60_000;

/** Makes calls at random times, so many a minute of wall time: with schedule time, a clock that skips would never rest. */
export function createTraffic(options: { world: World; emitter: Emitter; wall: WallTime }) {
  const { emitter, wall } = options;
  const { businesses } = options.world;
  const { seed } = options.world.origin;
  let perMinute = 0;
  let index = 0;
  let cancel = () => {};

  function next(): void {
    cancel();
    if (perMinute === 0) return;
    const { afterMs, type, orgId } = trafficStep({ seed, index, perMinute, businesses });
    cancel = wall.after(Math.min(afterMs, LONGEST_WAIT_MS), () => {
      index += 1;
      emitter.live({ type, orgId });
      next();
    });
  }

  return {
    perMinute: () => perMinute,
    /** Sets the rate; 0 stops it. */
    set(rate: number): void {
      perMinute = rate;
      next();
    },
  };
}

type TrafficStep = { afterMs: number; type: EventType; orgId: string };

/** Step `index` (from 0) at `perMinute` calls on average. The same seed gives the same steps. */
export function trafficStep(options: {
  seed: number;
  index: number;
  perMinute: number;
  businesses: readonly Business[];
}): TrafficStep {
  const random = createRandom(options.seed, "traffic", options.index);
  // The pauses between independent callers are exponentially distributed.
  const pause = -Math.log(1 - random.next());
  const business = random.pick(options.businesses);
  return {
    afterMs: Math.round((pause * MINUTE_MS) / options.perMinute),
    type: random.weighted(
      EVENT_TYPES.map((type) => [type, EVENT_KINDS[type].share[business.trade] ?? 0] as const),
    ),
    orgId: business.organization.id,
  };
}
