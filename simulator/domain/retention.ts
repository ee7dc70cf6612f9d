import type { Database } from "better-sqlite3";
import type { Transaction } from "./transaction.ts";

export type RetentionBounds = { deliveries: number; bytes: number };

export const DEFAULT_RETENTION: RetentionBounds = { deliveries: 100_000, bytes: 1_000_000_000 };

/** Rows removed in one transaction, which takes some milliseconds: attempts have deadlines. */
const BATCH_ROWS = 500;
/** The same if the limit of bytes is exceeded, where the number of excess rows is unknown. */
const BATCH_ROWS_BY_BYTES = 100;
/** Above this excess, deliveries that wait for a retry are removed too, even while attempts are due. */
const PATIENCE_ROWS = 10_000;
const PATIENCE_BYTES = 1.1;

const COUNT_DELIVERIES = `SELECT coalesce(sum(count), 0) FROM delivery_counts`;
const USED_BYTES = `
  SELECT (page_count - freelist_count) * page_size FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()`;
// Each of the two uses its own index and skips deliveries that wait.
const OLDEST_FINISHED = `
  SELECT seq, event_id AS eventId FROM (
    SELECT * FROM (SELECT seq, event_id FROM deliveries WHERE state = 'delivered' ORDER BY seq LIMIT @limit)
    UNION ALL
    SELECT * FROM (SELECT seq, event_id FROM deliveries WHERE state = 'dead' ORDER BY seq LIMIT @limit)
  ) ORDER BY seq LIMIT @limit`;
const OLDEST_WAITING = `
  SELECT seq, event_id AS eventId FROM deliveries
  WHERE state = 'attempting' AND next_attempt_at > @nowMs ORDER BY seq LIMIT @limit`;
const REMOVE_ATTEMPTS = `DELETE FROM attempts WHERE delivery_seq = ?`;
const REMOVE_DELIVERY = `DELETE FROM deliveries WHERE seq = ?`;
const WITHOUT_DELIVERY = `NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.event_id = events.id)`;
const REMOVE_EVENT = `DELETE FROM events WHERE id = ? AND ${WITHOUT_DELIVERY}`;
const REMOVE_ITEMS = `DELETE FROM world_items WHERE event_id = ?`;
const LAST_EVENT_SEQ = `SELECT coalesce(max(seq), 0) FROM events`;
const LONELY_EVENTS = `SELECT id FROM events WHERE seq > @from AND seq <= @to AND ${WITHOUT_DELIVERY}`;

type DeliveryRow = { seq: number; eventId: string };

export type Retention = ReturnType<typeof createRetention>;

/** `more`: call again at once. `blocked`: there is an excess that cannot be removed yet. `within`: there is no excess. */
export type Trimmed = "more" | "blocked" | "within";

/**
 * Keeps the state within its bounds. Removes the oldest deliveries first: finished ones, then those that wait for a retry,
 * never one whose attempt is due or under way. Removes an event with its last delivery, or, if it had none, once as many
 * events follow it as deliveries are kept; removes calls and voicemails with the last event about them.
 */
export function createRetention(options: {
  database: Database;
  transaction: Transaction;
  bounds: RetentionBounds;
  isBusy: (nowMs: number) => boolean;
}) {
  const { database, transaction, bounds } = options;
  const countDeliveries = database.prepare<[], number>(COUNT_DELIVERIES).pluck();
  const usedBytes = database.prepare<[], number>(USED_BYTES).pluck();
  const oldestFinished = database.prepare<[{ limit: number }], DeliveryRow>(OLDEST_FINISHED);
  const oldestWaiting = database.prepare<[{ limit: number; nowMs: number }], DeliveryRow>(OLDEST_WAITING);
  const removeAttempts = database.prepare<[number]>(REMOVE_ATTEMPTS);
  const removeDelivery = database.prepare<[number]>(REMOVE_DELIVERY);
  const removeEvent = database.prepare<[string]>(REMOVE_EVENT);
  const removeItems = database.prepare<[string]>(REMOVE_ITEMS);
  const lastEventSeq = database.prepare<[], number>(LAST_EVENT_SEQ).pluck();
  const lonelyEvents = database.prepare<[{ from: number; to: number }], string>(LONELY_EVENTS).pluck();
  let lonelyUntil = 0;

  /** How many deliveries must be removed now, and whether those that wait for a retry may be while attempts are due. */
  function excess(): { limit: number; isUrgent: boolean } {
    const total = countDeliveries.get() ?? 0;
    const bytes = usedBytes.get() ?? 0;
    return {
      limit: bytes > bounds.bytes ? BATCH_ROWS_BY_BYTES : Math.min(BATCH_ROWS, total - bounds.deliveries),
      isUrgent: total > bounds.deliveries + PATIENCE_ROWS || bytes > bounds.bytes * PATIENCE_BYTES,
    };
  }

  function removeDeliveries(nowMs: number): "none" | "some" | "blocked" {
    const { limit, isUrgent } = excess();
    if (limit <= 0) return "none";
    const going = oldestFinished.all({ limit });
    if (going.length === 0 && (isUrgent || !options.isBusy(nowMs)))
      going.push(...oldestWaiting.all({ limit, nowMs }));
    for (const { seq } of going) {
      removeAttempts.run(seq);
      removeDelivery.run(seq);
    }
    for (const eventId of new Set(going.map((delivery) => delivery.eventId))) forget(eventId);
    return going.length === 0 ? "blocked" : "some";
  }

  function removeLonelyEvents(): boolean {
    const to = Math.min((lastEventSeq.get() ?? 0) - bounds.deliveries, lonelyUntil + BATCH_ROWS);
    if (to <= lonelyUntil) return false;
    const ids = lonelyEvents.all({ from: lonelyUntil, to });
    lonelyUntil = to;
    for (const id of ids) forget(id);
    return true;
  }

  function forget(eventId: string): void {
    if (removeEvent.run(eventId).changes > 0) removeItems.run(eventId);
  }

  return {
    bounds,
    /** Removes a limited part of the excess at `nowMs` of schedule time. */
    trim: (nowMs: number): Trimmed =>
      transaction(() => {
        const deliveries = removeDeliveries(nowMs);
        if (removeLonelyEvents() || deliveries === "some") return "more";
        return deliveries === "blocked" ? "blocked" : "within";
      }),
  };
}
