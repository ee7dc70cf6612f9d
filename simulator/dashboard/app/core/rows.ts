import type { Filters } from "./filters.ts";
import type { Delivery, EventRecord, List, Page } from "./types.ts";

export type Row =
  | { kind: "delivery"; key: string; delivery: Delivery; isGrouped: boolean }
  | { kind: "event"; key: string; delivery: Delivery; count: number }
  | { kind: "lonely"; key: string; event: EventRecord };

/**
 * The list as rows of one height: deliveries, newest first; those of one event that stand together under a row for the
 * event; and events that went to nobody. Each row has a `key`.
 */
export function rowsOf({ ids, byId, lonely }: Listed): Row[] {
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

/** What one tab keeps of a list. */
const MOST_LISTED = 50_000;

/** One list: what passes `filters`, as far as it is loaded; at first nothing is known of it. */
export class Listed {
  filters: Filters;
  ids: string[] = [];
  byId = new Map<string, Delivery>();
  /** Events that went to nobody. */
  lonely = new Map<string, EventRecord>();
  cursor: string | undefined;
  hasMore = false;
  isLoaded = false;
  isLoading = false;
  next: Listed | undefined;
  error: Error | undefined;

  constructor(filters: Filters) {
    this.filters = filters;
  }
}

/** Adds a page below what is loaded. */
export function append(list: Listed, page: Page<Delivery>): void {
  for (const delivery of page.data) {
    if (list.byId.has(delivery.id)) continue;
    list.ids.push(delivery.id);
    list.byId.set(delivery.id, delivery);
    list.lonely.delete(delivery.event_id);
  }
  list.cursor = page.next_cursor ?? page.data.at(-1)?.id;
  list.hasMore = page.has_more && list.cursor !== undefined && list.ids.length < MOST_LISTED;
}

/** Adds the events that went to nobody. */
export function addLonely(list: Listed, deliveries: Page<Delivery>, events: List<EventRecord>): void {
  const known = new Set(deliveries.data.map((delivery) => delivery.event_id));
  const oldestAt = deliveries.has_more ? (deliveries.data.at(-1)?.created_at ?? "9") : "";
  for (const event of events.data.toReversed()) {
    // Of an event older than the oldest delivery here it is not known whether one belongs to it.
    if (!known.has(event.id) && event.created_at > oldestAt) list.lonely.set(event.id, event);
  }
}
