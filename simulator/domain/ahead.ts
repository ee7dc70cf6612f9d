import type { Database } from "better-sqlite3";
import type { dueSchema } from "./shapes.ts";
import type { Kept } from "./spelling.ts";

export type Due = Kept<typeof dueSchema>;

/** What falls due, by due time; with `hasMore`, only the first of it. */
export type Ahead = { due: Due[]; hasMore: boolean };

const MOST_LOOKED_AT = 20_000;

/**
 * The group of a due time, as wide as a point on a line of 14 h 36 min: one or two seconds in the next minute, a quarter of
 * an hour at the end.
 */
const MOMENT = `CAST(60 * ln(1 + max(0, due_at - @nowMs) / 60000.0) AS INTEGER)`;

const ATTEMPTS = `
  SELECT 'attempt' AS kind, min(due_at) AS dueAtMs, count(*) AS count, id AS deliveryId, event_type AS eventType,
    attempts_made + 1 AS attempt
  FROM (
    SELECT next_attempt_at AS due_at, id, event_type, attempts_made FROM deliveries
    WHERE next_attempt_at <= @untilMs ORDER BY next_attempt_at LIMIT ${MOST_LOOKED_AT}
  ) GROUP BY ${MOMENT} ORDER BY dueAtMs`;
const STEPS = `
  SELECT 'step' AS kind, min(due_at) AS dueAtMs, count(*) AS count, json_extract(step, '$.type') AS eventType,
    NULL AS deliveryId, NULL AS attempt
  FROM (
    SELECT due_at, step FROM steps WHERE due_at <= @untilMs ORDER BY due_at, seq LIMIT ${MOST_LOOKED_AT}
  ) GROUP BY ${MOMENT} ORDER BY dueAtMs`;

/** Looks ahead in schedule time: which attempts and which steps of scenarios fall due, and when. Changes nothing. */
export function createAhead(options: { database: Database }) {
  const attempts = options.database.prepare<[Span], Due>(ATTEMPTS);
  const steps = options.database.prepare<[Span], Due>(STEPS);

  return function ahead(span: Span): Ahead {
    const waiting = attempts.all(span);
    const ofStories = steps.all(span);
    const hasMore = [waiting, ofStories].some((due) => sumOf(due) >= MOST_LOOKED_AT);
    return { due: [...waiting, ...ofStories].toSorted((a, b) => a.dueAtMs - b.dueAtMs), hasMore };
  };
}

/** From now to the end of the look ahead; overdue attempts count as due now. */
type Span = { nowMs: number; untilMs: number };

function sumOf(due: readonly Due[]): number {
  return due.reduce((sum, { count }) => sum + count, 0);
}
