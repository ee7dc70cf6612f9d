import type { Database } from "better-sqlite3";
import type { DeliveryState } from "./outcome.ts";

export type StateCounts = Record<DeliveryState, number>;

export type DeliveryCounts = {
  total: number;
  byState: StateCounts;
  byType: Map<string, StateCounts>;
  byEndpoint: Map<string, StateCounts>;
};

export type EventCounts = { total: number; byType: Map<string, number> };

type DeliveryRow = { endpoint_id: string; event_type: string; state: DeliveryState; count: number };
type EventRow = { type: string; count: number };

const DELIVERIES = `SELECT * FROM delivery_counts WHERE count > 0`;
const EVENTS = `SELECT * FROM event_counts WHERE count > 0`;

/** How many deliveries and events there are of each kind. Kept, not counted: a million cost what one does. */
export function createCounts(options: { database: Database }) {
  const deliveries = options.database.prepare<[], DeliveryRow>(DELIVERIES);
  const events = options.database.prepare<[], EventRow>(EVENTS);

  return {
    deliveries(): DeliveryCounts {
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
    events(): EventCounts {
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
