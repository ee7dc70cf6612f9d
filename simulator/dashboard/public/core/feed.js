const PAGE_SIZE = 500;
/** What one tab keeps. */
const MOST_DELIVERIES = 50_000;

/** The deliveries that are loaded, newest first, and the events that went to nobody. */
export function createFeed() {
  let state = emptyState();
  let isLoaded = false;
  let isLoading = false;
  let run = 0;
  /** What the stream told while a load is under way: told again to what was loaded. */
  let meanwhile;

  function putDelivery(delivery) {
    meanwhile?.push(() => putDelivery(delivery));
    state.lonely.delete(delivery.event_id);
    // One that we don't list and that has attempts already is older than all that we list.
    if (!state.listed.has(delivery.id) && (delivery.attempts.length === 0 || !state.hasMore)) {
      state.newer.push(delivery.id);
      state.listed.add(delivery.id);
    }
    state.byId.set(delivery.id, delivery);
  }

  function addEvent(event) {
    meanwhile?.push(() => addEvent(event));
    state.lonely.set(event.id, event);
  }

  return {
    putDelivery,
    addEvent,
    get isLoaded() {
      return isLoaded;
    },
    get hasMore() {
      return state.hasMore;
    },
    get isLoading() {
      return isLoading;
    },
    get: (id) => state.byId.get(id),

    /** Begins anew with the newest page; what was there stays in sight until then. */
    async load(control) {
      const own = ++run;
      meanwhile = [];
      const [deliveries, events] = await Promise.all([
        control.get(`/deliveries?limit=${PAGE_SIZE}`),
        control.get(`/events?limit=${PAGE_SIZE}`),
      ]);
      if (own !== run) return;
      state = emptyState();
      append(state, deliveries);
      addLonely(state, deliveries, events);
      isLoaded = true;
      const missed = meanwhile;
      meanwhile = undefined;
      for (const tellAgain of missed) tellAgain();
    },

    async loadOlder(control) {
      const last = state.older.at(-1) ?? state.newer[0];
      if (!state.hasMore || isLoading || last === undefined) return;
      isLoading = true;
      const own = run;
      try {
        const page = await control.get(`/deliveries?limit=${PAGE_SIZE}&starting_after=${last}`);
        if (own === run) append(state, page);
      } finally {
        isLoading = false;
      }
    },

    /** Rows that `wanted` lets through, newest first: `{ delivery }`, or `{ event }` where nobody wanted it. */
    rows(wanted) {
      const { byId, newer, older } = state;
      const events = [...state.lonely.values()].toReversed();
      const rows = [];
      let nextEvent = 0;
      const add = (row) => {
        if (wanted(row)) rows.push(row);
      };
      const visit = (id) => {
        const delivery = byId.get(id);
        while (nextEvent < events.length && events[nextEvent].created_at > delivery.created_at)
          add({ event: events[nextEvent++] });
        add({ delivery });
      };
      for (let index = newer.length - 1; index >= 0; index--) visit(newer[index]);
      for (const id of older) visit(id);
      while (nextEvent < events.length) add({ event: events[nextEvent++] });
      return rows;
    },
  };
}

function emptyState() {
  return { byId: new Map(), listed: new Set(), newer: [], older: [], lonely: new Map(), hasMore: false };
}

function append(state, page) {
  for (const delivery of page.data) {
    if (!state.listed.has(delivery.id)) state.older.push(delivery.id);
    state.listed.add(delivery.id);
    // The stream may have told of it before this older answer arrived.
    const known = state.byId.get(delivery.id);
    if (known === undefined || delivery.attempts.length > known.attempts.length)
      state.byId.set(delivery.id, delivery);
    state.lonely.delete(delivery.event_id);
  }
  state.hasMore = page.has_more && state.listed.size < MOST_DELIVERIES;
}

function addLonely(state, deliveries, events) {
  const known = new Set(deliveries.data.map((delivery) => delivery.event_id));
  const oldestAt = deliveries.has_more ? deliveries.data.at(-1).created_at : "";
  for (const event of events.data.toReversed()) {
    // Of an event older than the oldest delivery here it is not known whether one belongs to it.
    if (!known.has(event.id) && event.created_at > oldestAt) state.lonely.set(event.id, event);
  }
}
