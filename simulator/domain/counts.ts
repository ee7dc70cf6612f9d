import type { Database } from "better-sqlite3";
import { LAST } from "./delivery-summaries.ts";
import type { DeliveryState } from "./outcome.ts";

export type StateCounts = Record<DeliveryState, number>;

type DeliveryRow = { endpoint_id: string; event_type: string; state: DeliveryState; count: number };
type EventRow = { type: string; count: number };

const DELIVERIES = `
  SELECT endpoint_id, event_type, state, sum(count) AS count FROM delivery_counts WHERE count > 0 GROUP BY 1, 2, 3`;
const LOST = `SELECT count(*) FROM deliveries d WHERE d.state = 'dead' AND ${LAST}`;
const ENDPOINTS = `SELECT count(*) FROM endpoints WHERE deleted_at IS NULL`;
const EVENTS = `SELECT * FROM event_counts WHERE count > 0`;

/** How many deliveries and events there are of each kind. Triggers keep all numbers but that of the lost ones. */
export function createCounts(options: { database: Database }) {
  const deliveries = options.database.prepare<[], DeliveryRow>(DELIVERIES);
  const lost = options.database.prepare<[], number>(LOST).pluck();
  const endpoints = options.database.prepare<[], number>(ENDPOINTS).pluck();
  let known: { of: string; lost: number } | undefined;
  const events = options.database.prepare<[], EventRow>(EVENTS);

  return {
    deliveries() {
      const [byType, byEndpoint] = [new Map<string, StateCounts>(), new Map<string, StateCounts>()];
      const counts = { total: 0, byState: none(), byType, byEndpoint };
      for (const { endpoint_id: endpointId, event_type: type, state, count } of deliveries.all()) {
        counts.total += count;
        counts.byState[state] += count;
        ofKey(counts.byType, type)[state] += count;
        ofKey(counts.byEndpoint, endpointId)[state] += count;
      }
      return counts;
    },
    /** How many gave up and were not sent again since, to endpoints that are still there. */
    lost(): number {
      // The count can only change together with these numbers.
      const counted = `${endpoints.get() ?? 0} ${JSON.stringify(deliveries.all())}`;
      if (counted !== known?.of) known = { of: counted, lost: lost.get() ?? 0 };
      return known.lost;
    },
    events() {
      const counts = { total: 0, byType: new Map<string, number>() };
      for (const { type, count } of events.all()) {
        counts.total += count;
        counts.byType.set(type, count);
      }
      return counts;
    },
  };
}

function ofKey(counts: Map<string, StateCounts>, key: string): StateCounts {
  const known = counts.get(key) ?? none();
  counts.set(key, known);
  return known;
}

function none(): StateCounts {
  return { attempting: 0, delivered: 0, dead: 0 };
}
