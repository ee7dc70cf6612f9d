import type { AttemptSummary } from "../../simulator/domain/attempts.ts";
import type { Delivery } from "../../simulator/domain/deliveries.ts";
import type { StoredEvent } from "../../simulator/domain/events.ts";
import type { Simulator } from "../../simulator/verbs/simulator.ts";

/** Every delivery there is, newest first. */
export function allDeliveries({ deliveries }: Simulator): Delivery[] {
  return everyPage((after) => {
    const page = deliveries.page({ limit: 1_000, after });
    return { items: page.deliveries, next: page.next };
  }).flatMap(({ id }) => deliveries.find(id) ?? []);
}

/** Every event there is, newest first. */
export function allEvents({ events }: Simulator): StoredEvent[] {
  return everyPage((after) => {
    const page = events.page({ limit: 1_000, after });
    return { items: page.events, next: page.next };
  }).flatMap(({ id }) => events.find(id) ?? []);
}

/** Attempts that have begun and not ended. */
export function openAttempts({ deliveries }: Simulator): AttemptSummary[] {
  const attempting = deliveries.page({ limit: 1_000, state: "attempting" });
  return attempting.deliveries
    .flatMap(({ attempts }) => attempts)
    .filter(({ endedAtMs }) => endedAtMs === null);
}

function everyPage<Item>(
  page: (after: string | undefined) => { items: Item[]; next: string | null },
): Item[] {
  const all: Item[] = [];
  for (let after: string | undefined; ;) {
    const { items, next } = page(after);
    all.push(...items);
    if (next === null) return all;
    after = next;
  }
}
