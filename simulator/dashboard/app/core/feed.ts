import { asError, type control as api } from "./api.ts";
import { apiQuery, type Filters, isFiltered, NO_FILTERS, passes } from "./filters.ts";
import { createMeanwhile, createPatience } from "./late-answers.ts";
import { addLonely, append, Listed, type Row, rowsOf } from "./rows.ts";
import type { Delivery, EventRecord, List, Page } from "./types.ts";

const FIRST_PAGE = 60;
/** Larger than the first page, for users who scroll. */
const NEXT_PAGE = 250;
/** Deliveries that a tab remembers without listing them. */
const MOST_HEARD = 5_000;
/** The shortest interval between questions about filters that only the simulator can evaluate. */
const ASK_AGAIN_MS = 250;

type Control = Pick<typeof api, "get">;

/**
 * The deliveries that match the filters, newest first, loaded page by page and updated by the stream. Calls `changed()` when
 * there is something new to show.
 */
export function createFeed({ control, changed }: { control: Control; changed: () => void }) {
  const heard = new Map<string, Delivery>();
  /** When each was last updated, by `performance.now()`. */
  const litAt = new Map<string, number>();
  let list = new Listed(NO_FILTERS);
  let latest: Delivery | undefined;
  const latestOf = new Map<string, Delivery>();
  let askTimer: ReturnType<typeof setTimeout> | undefined;
  /** The number of updates that only the simulator can match against the filters. */
  let doubts = 0;
  let rows: Row[] | undefined;
  const meanwhile = createMeanwhile();
  const patience = createPatience(ASK_AGAIN_MS);

  function hear(place: () => void): void {
    meanwhile.repeat(place);
    notify();
  }

  function notify(): void {
    rows = undefined;
    changed();
  }

  /** Starts again; the old rows stay visible until the first page has arrived. */
  async function load(filters: Filters): Promise<void> {
    const next = new Listed(filters);
    Object.assign(list, { filters, next, error: undefined });
    notify();
    const asked = Promise.all([read(filters), readEvents(filters)]);
    try {
      await meanwhile.of(asked, ([page, events]) => {
        if (list.next !== next) return false;
        append(next, page);
        addLonely(next, page, events);
        next.isLoaded = true;
        [list, rows] = [next, undefined];
        return true;
      });
    } catch (error) {
      if (list.next === next) Object.assign(list, { next: undefined, error: asError(error) });
    }
    notify();
  }

  async function loadOlder(): Promise<void> {
    const own = list;
    const mustWait = own.isLoading || own.next !== undefined || own.error !== undefined;
    if (!own.isLoaded || !own.hasMore || mustWait) return;
    own.isLoading = true;
    try {
      await meanwhile.of(read(own.filters, own.cursor), (page) => {
        if (own !== list) return false;
        append(own, page);
        return true;
      });
    } catch (error) {
      own.error = asError(error);
    }
    own.isLoading = false;
    if (own === list) notify();
  }

  function read(filters: Filters, cursor?: string): Promise<Page<Delivery>> {
    const page =
      cursor === undefined ? FIRST_PAGE : `${NEXT_PAGE}&starting_after=${encodeURIComponent(cursor)}`;
    return control.get(`/deliveries?limit=${page}${apiQuery(filters)}`);
  }

  /** Loads events only if one without a delivery could be in the list. */
  async function readEvents(filters: Filters): Promise<List<EventRecord>> {
    const { q, type } = filters;
    if (/\w:\S/.test(q) || isFiltered({ ...filters, q: "", type: "" })) return { data: [] };
    return control.get(`/events?limit=${FIRST_PAGE}${apiQuery({ q, type })}`);
  }

  function place(delivery: Delivery): void {
    const { filters, byId } = list;
    list.lonely.delete(delivery.event_id);
    const isListed = byId.has(delivery.id);
    const answer = passes(filters, delivery);
    if (isListed) byId.set(delivery.id, delivery);
    if (answer === "maybe") askAgainSoon();
    else if (answer === "yes" && !isListed) insert(delivery);
    else if (answer === "no" && isListed) remove(delivery.id);
  }

  function placeEvent(event: EventRecord): void {
    const { type } = list.filters;
    if (isFiltered({ ...list.filters, type: "" })) return;
    if (type === "" || type === event.type) list.lonely.set(event.id, event);
  }

  function remember(delivery: Delivery): void {
    heard.delete(delivery.id);
    heard.set(delivery.id, delivery);
    litAt.set(delivery.id, performance.now());
    const last = delivery.attempts.at(-1);
    if (last?.ended_at) {
      // An update because another delivery recovered it is not a new attempt.
      if (last.wall_started_at >= (latest?.attempts.at(-1)?.wall_started_at ?? "")) latest = delivery;
      latestOf.set(delivery.endpoint_id, delivery);
    }
    if (heard.size <= MOST_HEARD) return;
    const [oldest = ""] = heard.keys();
    heard.delete(oldest);
    litAt.delete(oldest);
  }

  /** Inserts one by its time; below the loaded rows it comes with its page. */
  function insert(delivery: Delivery): void {
    const { ids, byId, hasMore } = list;
    let at = 0;
    const createdAt = (id = "") => byId.get(id)?.created_at ?? "";
    while (at < ids.length && createdAt(ids[at]) > delivery.created_at) at++;
    if (at === ids.length && hasMore) return;
    ids.splice(at, 0, delivery.id);
    byId.set(delivery.id, delivery);
  }

  function remove(id: string): void {
    list.ids.splice(list.ids.indexOf(id), 1);
    list.byId.delete(id);
  }

  /** Only the simulator knows whether it contains the searched words, or was sent again. */
  function askAgainSoon(): void {
    doubts += 1;
    askTimer ??= setTimeout(async () => {
      const own = list;
      const before = doubts;
      const page = await patience.time(read(own.filters)).catch(() => undefined);
      askTimer = undefined;
      // One question at a time: later updates go into the next one.
      if (doubts > before) askAgainSoon();
      if (page === undefined || own !== list || own.next !== undefined) return;
      const found = new Set(page.data.map(({ id }) => id));
      const oldestAt = page.has_more ? (page.data.at(-1)?.created_at ?? "9") : "";
      for (const [id, { created_at: createdAt }] of own.byId)
        if (!found.has(id) && createdAt > oldestAt) remove(id);
      for (const delivery of page.data.toReversed())
        if (!own.byId.has(delivery.id)) insert(heard.get(delivery.id) ?? delivery);
      notify();
    }, patience.ms());
  }

  return {
    load,
    loadOlder,
    put(delivery: Delivery): void {
      remember(delivery);
      hear(() => place(delivery));
    },
    addEvent: (event: EventRecord) => hear(() => placeEvent(event)),
    /** Forgets updates: before a reload they may be stale. */
    forget: () => heard.clear(),
    /** A known delivery, listed or not. */
    get: (id: string) => heard.get(id) ?? list.byId.get(id),
    /** When it was last updated, by `performance.now()`. */
    litAt: (id: string) => litAt.get(id),
    /** The delivery whose attempt ended last, among those updated. */
    latest: () => latest,
    /** The same of one endpoint. */
    heardOf: (endpointId: string) => latestOf.get(endpointId),
    rows: () => (rows ??= rowsOf(list)),
    /** The loaded part of the list; with a `next`, the rows do not match the filters yet. */
    get list(): Readonly<Listed> {
      return list;
    },
  };
}
