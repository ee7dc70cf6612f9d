import type { Database } from "better-sqlite3";
import { type FoundDelivery, LAST } from "./delivery-search.ts";
import { DELIVERY_STATES, type DeliveryState } from "./outcome.ts";
import type { Selection } from "./selection.ts";
import type { countSchema } from "./job-shapes.ts";
import type { Kept } from "./spelling.ts";

export type DeliveryCount = Kept<typeof countSchema>;

type GroupRow = Omit<FoundDelivery, "id"> & { count: number };

const BY_STATE = `SELECT state, sum(count) AS count FROM delivery_counts WHERE count > 0 GROUP BY 1`;
const OF_SELECTION = `
  SELECT endpoint_id, event_type, state, verdict, nullif(cause, '') AS cause, sum(count) AS count FROM delivery_counts
  WHERE count > 0 AND endpoint_id = coalesce(@endpointId, endpoint_id) AND event_type = coalesce(@type, event_type)
    AND state = coalesce(@state, state) AND verdict = coalesce(@verdict, verdict) AND cause = coalesce(@cause, cause)
  GROUP BY 1, 2, 3, 4, 5`;
const LOST = `SELECT count(*) FROM deliveries d WHERE d.state = 'dead' AND ${LAST}`;
/** A value that changes with the number of lost deliveries, except where the counts by state change, too. */
const LOST_DEPENDS_ON = `
  SELECT (SELECT count(*) FROM endpoints WHERE deleted_at IS NULL) || ' ' || (SELECT max(seq) FROM deliveries)`;
const EVENTS = `SELECT count(*) FROM events`;

export type Counts = ReturnType<typeof createCounts>;

/** The numbers of deliveries and events. Triggers keep those of deliveries, except for the lost ones. */
export function createCounts(options: { database: Database }) {
  const byState = options.database.prepare<[], { state: DeliveryState; count: number }>(BY_STATE);
  const ofSelection = options.database.prepare<[object], GroupRow>(OF_SELECTION);
  const lost = options.database.prepare<[], number>(LOST).pluck();
  const lostDependsOn = options.database.prepare<[], string>(LOST_DEPENDS_ON).pluck();
  const events = options.database.prepare<[], number>(EVENTS).pluck();
  let known: { of: string; lost: number } | undefined;

  return {
    deliveries() {
      const counts = { total: 0, byState: { attempting: 0, delivered: 0, dead: 0 } };
      for (const { state, count } of byState.all()) {
        counts.total += count;
        counts.byState[state] += count;
      }
      return counts;
    },
    /** How many a selection has; undefined if that needs a search. */
    of(selection: Selection): DeliveryCount | undefined {
      const {
        endpointId = null,
        type = null,
        state = null,
        verdict = null,
        cause = null,
        ...rest
      } = selection;
      const { paths = [], ...others } = rest;
      const isCounted = state === null || DELIVERY_STATES.some((known) => known === state);
      if (!isCounted || paths.length > 0 || Object.values(others).some((value) => value !== undefined))
        return undefined;
      return countOf(ofSelection.all({ endpointId, type, state, verdict, cause }));
    },
    /** How many gave up and were not sent again since, to existing endpoints. */
    lost(): number {
      const counted = `${lostDependsOn.get()} ${JSON.stringify(byState.all())}`;
      if (counted !== known?.of) known = { of: counted, lost: lost.get() ?? 0 };
      return known.lost;
    },
    events: (): number => events.get() ?? 0,
  };
}

export function countFound(found: readonly FoundDelivery[]): DeliveryCount {
  return countOf(found.map((delivery) => ({ ...delivery, count: 1 })));
}

function countOf(rows: readonly GroupRow[]): DeliveryCount {
  return {
    total: sumOf(rows),
    counts: grouped(rows, (row) => ({ endpointId: row.endpoint_id, eventType: row.event_type })),
    endings: grouped(rows, ({ state, verdict, cause }) => ({ state, verdict, cause })),
  };
}

function grouped<Key>(rows: readonly GroupRow[], keyOf: (row: GroupRow) => Key): (Key & { count: number })[] {
  const groups = Map.groupBy(rows, (row) => JSON.stringify(keyOf(row)));
  return [...groups.values()].flatMap((group) =>
    group.slice(0, 1).map((first) => ({ ...keyOf(first), count: sumOf(group) })),
  );
}

function sumOf(rows: readonly GroupRow[]): number {
  return rows.reduce((sum, { count }) => sum + count, 0);
}
