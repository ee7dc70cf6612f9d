import { apiQuery, isFiltered, NO_FILTERS, passes } from "./filters.js";
import { createMeanwhile } from "./meanwhile.js";
import { rowsOf } from "./rows.js";

const FIRST_PAGE = 100;
/** Who goes on reading wants more of it. */
const NEXT_PAGE = 250;
/** What one tab keeps of a list. */
const MOST_LISTED = 50_000;
/** What one tab remembers of deliveries that it does not list. */
const MOST_HEARD = 5_000;
/** How soon a text search is asked again whether what is new belongs to it. */
const ASK_AGAIN_MS = 250;

/**
 * The deliveries that pass the filters, newest first, page by page as the simulator finds them, and kept up to date by
 * what the stream tells. `changed()` is called whenever there is something else to show.
 */
export function createFeed({ control, changed }) {
  const heard = new Map();
  /** When each was last told of, by `performance.now()`. */
  const litAt = new Map();
  let list = emptyList(NO_FILTERS);
  let latest;
  const latestOf = new Map();
  let askTimer;
  let rows;
  const meanwhile = createMeanwhile();

  function hear(place) {
    meanwhile.tell(place);
    tell();
  }

  function tell() {
    rows = undefined;
    changed();
  }

  /** Begins anew; what was there stays in sight until the first page has come. */
  async function load(filters) {
    const next = emptyList(filters);
    list = { ...list, filters, next, error: undefined };
    tell();
    const asked = Promise.all([read(filters), readEvents(filters)]);
    try {
      await meanwhile.of(asked, ([page, events]) => {
        if (list.next !== next) return false;
        append(next, page);
        addLonely(next, page, events);
        list = { ...next, isLoaded: true };
        return true;
      });
    } catch (error) {
      if (list.next === next) list = { ...list, next: undefined, error };
    }
    tell();
  }

  async function loadOlder() {
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
      own.error = error;
    }
    own.isLoading = false;
    if (own === list) tell();
  }

  function read(filters, cursor) {
    const after = cursor === undefined ? "" : `&starting_after=${encodeURIComponent(cursor)}`;
    return control.get(
      `/deliveries?limit=${cursor === undefined ? FIRST_PAGE : NEXT_PAGE}${apiQuery(filters)}${after}`,
    );
  }

  /** Events are asked for only where one that went to nobody could stand in the list. */
  function readEvents({ q, type, endpoint, state, verdict }) {
    if (endpoint !== "" || state !== "" || verdict !== "") return { data: [] };
    return control.get(`/events?limit=${FIRST_PAGE}${apiQuery({ q, type })}`);
  }

  function place(delivery) {
    const { listed, filters, byId } = list;
    list.lonely.delete(delivery.event_id);
    if (listed.has(delivery.id)) {
      byId.set(delivery.id, delivery);
      if (!passes(filters, delivery)) remove(delivery.id);
    } else if (passes(filters, delivery)) {
      if (filters.q.trim() === "") insert(delivery);
      else askAgainSoon();
    }
  }

  function placeEvent(event) {
    const { q, type, endpoint, state, verdict } = list.filters;
    if (q !== "" || endpoint !== "" || state !== "" || verdict !== "") return;
    if (type === "" || type === event.type) list.lonely.set(event.id, event);
  }

  function remember(delivery) {
    heard.delete(delivery.id);
    heard.set(delivery.id, delivery);
    litAt.set(delivery.id, performance.now());
    if (delivery.attempts.at(-1)?.ended_at) {
      latest = delivery;
      latestOf.set(delivery.endpoint_id, delivery);
    }
    if (heard.size <= MOST_HEARD) return;
    const [oldest] = heard.keys();
    heard.delete(oldest);
    litAt.delete(oldest);
  }

  /** Puts one where its time belongs; below what is loaded it comes with its page. */
  function insert(delivery) {
    const { ids, byId, listed, hasMore } = list;
    let at = 0;
    while (at < ids.length && byId.get(ids[at]).created_at > delivery.created_at) at++;
    if (at === ids.length && hasMore) return;
    ids.splice(at, 0, delivery.id);
    listed.add(delivery.id);
    byId.set(delivery.id, delivery);
  }

  function remove(id) {
    list.ids.splice(list.ids.indexOf(id), 1);
    list.listed.delete(id);
    list.byId.delete(id);
  }

  /** Only the simulator knows whether a new payload has the words that are searched for. */
  function askAgainSoon() {
    askTimer ??= setTimeout(async () => {
      askTimer = undefined;
      const own = list;
      const page = await read(own.filters).catch(() => ({ data: [] }));
      if (own !== list) return;
      for (const delivery of page.data.toReversed()) {
        if (!own.listed.has(delivery.id)) insert(heard.get(delivery.id) ?? delivery);
      }
      tell();
    }, ASK_AGAIN_MS);
  }

  return {
    load,
    loadOlder,
    put(delivery) {
      remember(delivery);
      hear(() => place(delivery));
    },
    addEvent: (event) => hear(() => placeEvent(event)),
    /** What was told of before everything is loaded anew, which may not be so any more. */
    forget: () => heard.clear(),
    /** What is known of a delivery, listed or not. */
    get: (id) => heard.get(id) ?? list.byId.get(id),
    /** When it was last told of, by `performance.now()`. */
    litAt: (id) => litAt.get(id),
    /** The delivery whose attempt ended last, of those that were told of. */
    latest: () => latest,
    /** The same of one endpoint. */
    heardOf: (endpointId) => latestOf.get(endpointId),
    rows: () => (rows ??= rowsOf(list)),
    get filters() {
      return list.filters;
    },
    get isLoaded() {
      return list.isLoaded;
    },
    get hasMore() {
      return list.hasMore;
    },
    /** Whether what is shown is not yet what the filters ask for. */
    get isChanging() {
      return list.next !== undefined;
    },
    /** What went wrong when it was asked for; nothing more is asked until `load`. */
    get error() {
      return list.error;
    },
    get isFiltered() {
      return isFiltered(list.filters);
    },
  };
}

function emptyList(filters) {
  return {
    filters,
    ids: [],
    byId: new Map(),
    listed: new Set(),
    lonely: new Map(),
    cursor: undefined,
    hasMore: false,
    isLoaded: false,
    isLoading: false,
    next: undefined,
    error: undefined,
  };
}

function append(list, page) {
  for (const delivery of page.data) {
    if (list.listed.has(delivery.id)) continue;
    list.ids.push(delivery.id);
    list.listed.add(delivery.id);
    list.byId.set(delivery.id, delivery);
    list.lonely.delete(delivery.event_id);
  }
  list.cursor = page.next_cursor ?? page.data.at(-1)?.id;
  list.hasMore = page.has_more && list.cursor !== undefined && list.ids.length < MOST_LISTED;
}

function addLonely(list, deliveries, events) {
  const known = new Set(deliveries.data.map((delivery) => delivery.event_id));
  const oldestAt = deliveries.has_more ? (deliveries.data.at(-1)?.created_at ?? "9") : "";
  for (const event of events.data.toReversed()) {
    // Of an event older than the oldest delivery here it is not known whether one belongs to it.
    if (!known.has(event.id) && event.created_at > oldestAt) list.lonely.set(event.id, event);
  }
}
