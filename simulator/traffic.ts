import type { EventType } from "../shared/events.ts";
import { createRandom } from "./domain/random.ts";
import type { Simulator } from "./simulator.ts";

/** How often each kind of thing happens in a business, relative to the others. */
const MIX: readonly (readonly [EventType, number])[] = [
  ["call.completed", 6],
  ["call.transferred", 1],
  ["voicemail.created", 1],
  ["order.created", 2],
  ["booking.created", 2],
];

export type Traffic = ReturnType<typeof createTraffic>;

/** Keeps the business alive: so many happenings a minute of wall time, until stopped. */
export function createTraffic(simulator: Simulator) {
  const random = createRandom(simulator.seed, "traffic");
  let perMinute = 0;
  let cancel = () => {};

  function next(): void {
    cancel();
    if (perMinute === 0) return;
    cancel = simulator.wall.after(60_000 / perMinute, () => {
      simulator.emitter.live({ type: random.weighted(MIX) });
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
