import type { Delivery, EventRecord } from "./types.ts";

export type Row =
  | { kind: "delivery"; key: string; delivery: Delivery; isGrouped: boolean }
  | { kind: "event"; key: string; delivery: Delivery; count: number }
  | { kind: "lonely"; key: string; event: EventRecord };

/** Deliveries in their order, and the events that went to nobody. */
type Found = { ids: string[]; byId: Map<string, Delivery>; lonely: Map<string, EventRecord> };

/**
 * The list as rows of one height: deliveries, newest first; those of one event that stand together under a row for the
 * event; and events that went to nobody. Each row has a `key`.
 */
export function rowsOf({ ids, byId, lonely }: Found): Row[] {
  const rows: Row[] = [];
  const deliveries = ids.flatMap((id) => byId.get(id) ?? []);
  const events = [...lonely.values()].toReversed();
  let nextEvent = 0;
  const addLonelyAfter = (createdAt: string) => {
    for (let event = events[nextEvent]; event && event.created_at > createdAt; event = events[nextEvent]) {
      rows.push({ kind: "lonely", key: event.id, event });
      nextEvent += 1;
    }
  };
  for (let index = 0; index < deliveries.length;) {
    const from = index;
    const first = deliveries[from];
    while (deliveries[index]?.event_id === first?.event_id && index < deliveries.length) index += 1;
    if (first === undefined) break;
    addLonelyAfter(first.created_at);
    const own = deliveries.slice(from, index);
    const isGrouped = own.length > 1;
    if (isGrouped) rows.push({ kind: "event", key: first.event_id, delivery: first, count: own.length });
    for (const delivery of own) rows.push({ kind: "delivery", key: delivery.id, delivery, isGrouped });
  }
  addLonelyAfter("");
  return rows;
}
