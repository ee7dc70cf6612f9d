import { setImmediate } from "node:timers";
import type { Database } from "better-sqlite3";
import type { DeliverySummaries } from "./delivery-summaries.ts";
import type { Journal } from "./journal.ts";
import type { clockSchema, Handling } from "./shapes.ts";
import type { Kept } from "./spelling.ts";

export type VerdictCount = Kept<typeof clockSchema>["verdicts"]["counts"][number];

const OF_EVENT = `SELECT event_id FROM deliveries WHERE id = ?`;
const OF_SETTLED = `SELECT event_id FROM deliveries WHERE id = ? AND state <> 'attempting'`;
const SIBLINGS = `SELECT id FROM deliveries WHERE event_id IN (SELECT value FROM json_each(?))`;
const SET = `
  UPDATE deliveries SET meant = ?, verdict = ?, cause = ?
  WHERE id = ? AND (meant <> ? OR verdict <> ? OR cause IS NOT ?)`;
const LEFT = `SELECT DISTINCT event_id FROM deliveries WHERE verdict = 'waiting' AND attempts_made > 0`;
const COUNTS = `
  SELECT endpoint_id AS endpointId, meant, verdict AS result, sum(count) AS count FROM delivery_counts WHERE count > 0
  GROUP BY 1, 2, 3`;
const RECORD = `
  INSERT INTO handlings (event_id, endpoint_id, handled, duplicates, state, is_settled) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET handled = excluded.handled, duplicates = excluded.duplicates, state = excluded.state,
    is_settled = excluded.is_settled
  WHERE handled <> excluded.handled OR duplicates IS NOT excluded.duplicates OR state IS NOT excluded.state
    OR is_settled <> excluded.is_settled`;

const BATCH_EVENTS = 500;

export type Verdicts = ReturnType<typeof createVerdicts>;

/** Stores each delivery's verdict in its row, and updates it when an attempt ends or the receiver reports on the event. */
export function createVerdicts(options: {
  database: Database;
  deliverySummaries: DeliverySummaries;
  journal: Journal;
}) {
  const { database, deliverySummaries, journal } = options;
  const eventOf = database.prepare<[string], string>(OF_EVENT).pluck();
  const settledEventOf = database.prepare<[string], string>(OF_SETTLED).pluck();
  const siblings = database.prepare<[string], string>(SIBLINGS).pluck();
  const set = database.prepare(SET);
  const record = database.prepare(RECORD);
  const counts = database.prepare<[], VerdictCount>(COUNTS);

  const pending = new Set<string>();

  /** Judges all deliveries of these events, since one affects another: a duplicate, or handled twice. */
  const judge = database.transaction((eventIds: readonly string[]) => {
    for (const { id, verdict, recoveredBy } of deliverySummaries.ofIds(
      siblings.all(JSON.stringify(eventIds)),
    )) {
      const judgement = [verdict.meant, verdict.result, verdict.cause];
      const { changes } = set.run(...judgement, id, ...judgement);
      // A later delivery recovered it, so no attempt of its own notifies the watchers.
      if (changes > 0 && recoveredBy !== null) journal.write({ kind: "delivery.changed", deliveryId: id });
    }
  });

  function judgePending(): void {
    const eventIds = [...pending];
    pending.clear();
    for (let at = 0; at < eventIds.length; at += BATCH_EVENTS) judge(eventIds.slice(at, at + BATCH_EVENTS));
  }

  /** Judges all changes of one turn of the event loop together: one by one, that would take longer than the attempts. */
  function judgeSoon(eventId: string): void {
    if (pending.size === 0) setImmediate(() => database.open && judgePending());
    pending.add(eventId);
  }

  journal.watch((entry) => {
    if (entry.kind !== "attempt.ended" && entry.kind !== "delivery.changed") return;
    if (entry.kind === "attempt.ended" && entry.isJudged) return;
    // A new delivery is `waiting`, by the default of its table.
    const eventId = (entry.kind === "attempt.ended" ? eventOf : settledEventOf).get(entry.deliveryId);
    if (eventId !== undefined) judgeSoon(eventId);
  });
  // Events that an earlier process left unjudged.
  for (const eventId of database.prepare<[], string>(LEFT).pluck().all()) pending.add(eventId);
  judgePending();

  return {
    record(eventId: string, endpointId: string, handling: Handling): void {
      const { handled, duplicates, state, isSettled } = handling;
      const { changes } = record.run(eventId, endpointId, handled, duplicates, state, isSettled ? 1 : 0);
      if (changes === 0) return;
      judgeSoon(eventId);
      for (const deliveryId of siblings.all(JSON.stringify([eventId])))
        journal.write({ kind: "delivery.changed", deliveryId });
    },
    counts(): VerdictCount[] {
      judgePending();
      return counts.all();
    },
    settle: judgePending,
  };
}
