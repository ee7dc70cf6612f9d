import { EVENT_TYPES, type EventType } from "../../../shared/events.ts";
import { createRandom } from "../random.ts";
import { EVENT_KINDS } from "./event-types.ts";
import type { Business } from "./organizations.ts";

/** The next thing that happens by itself, `afterMs` after the one before. */
export type TrafficStep = { afterMs: number; type: EventType; orgId: string };

const MINUTE_MS = 60_000;

/**
 * Step `index` (from 0) where all businesses together have `perMinute` calls a minute on average, at random moments as
 * real callers have them. The same seed gives the same steps.
 */
export function trafficStep(options: {
  seed: number;
  index: number;
  perMinute: number;
  businesses: readonly Business[];
}): TrafficStep {
  const random = createRandom(options.seed, "traffic", options.index);
  // The pauses of callers who know nothing of each other are exponentially distributed.
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
