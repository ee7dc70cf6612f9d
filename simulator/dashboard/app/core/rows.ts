import type { Filters } from "./filters.ts";
import type { Delivery, EventRecord, List, Page } from "./types.ts";

export type Row =
  | { kind: "delivery"; key: string; delivery: Delivery }
  | { kind: "lonely"; key: string; event: EventRecord };

/** The list as rows of one height, newest first: deliveries, and events without deliveries. Each row has a `key`. */
export function rowsOf({ ids, byId, lonely }: Listed): Row[] {
  const rows: Row[] = [];
  const events = [...lonely.values()].toReversed();
  const addLonelyAfter = (createdAt: string) => {
    while (events[0] !== undefined && events[0].created_at > createdAt) {
      const [event] = events.splice(0, 1);
      if (event !== undefined) rows.push({ kind: "lonely", key: event.id, event });
    }
  };
  for (const delivery of ids.flatMap((id) => byId.get(id) ?? [])) {
    addLonelyAfter(delivery.created_at);
    rows.push({ kind: "delivery", key: delivery.id, delivery });
  }
  addLonelyAfter("");
  return rows;
}

/** The part of a list that one tab keeps. */
const MOST_LISTED = 50_000;

/** One list: the loaded part of what matches `filters`; empty at first. */
export class Listed {
  filters: Filters;
  ids: string[] = [];
  byId = new Map<string, Delivery>();
  /** Events without deliveries. */
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

/** Appends a page to the loaded rows. */
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

/** Adds the events without deliveries. */
export function addLonely(list: Listed, deliveries: Page<Delivery>, events: List<EventRecord>): void {
  const known = new Set(deliveries.data.map((delivery) => delivery.event_id));
  const oldestAt = deliveries.has_more ? (deliveries.data.at(-1)?.created_at ?? "9") : "";
  for (const event of events.data.toReversed()) {
    // Of an event older than the oldest delivery here it is not known whether one belongs to it.
    if (!known.has(event.id) && event.created_at > oldestAt) list.lonely.set(event.id, event);
  }
}
