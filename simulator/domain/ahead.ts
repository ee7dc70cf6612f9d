import type { Database } from "better-sqlite3";

/**
 * What falls due at about one moment: attempts, or steps of stories. Nothing is due before `dueAtMs`, when the first of
 * `count` is: the one that is named.
 */
export type Due =
  | { kind: "attempt"; dueAtMs: number; count: number; deliveryId: string; eventType: string; number: number }
  | { kind: "step"; dueAtMs: number; count: number; eventType: string };

/** What lies ahead, by due time; of very much only the first, and `hasMore`. */
export type Ahead = { due: Due[]; hasMore: boolean };

type AttemptRow = { due_at: number; count: number; id: string; event_type: string; attempts_made: number };
type StepRow = { due_at: number; count: number; event_type: string };

/** Beyond this a look ahead would take too long; what comes first is seen in any case. */
const MOST_LOOKED_AT = 20_000;

/**
 * About what can be told apart on a line from now to 14 h 36 min: finer the sooner, a second or two in the next minute, five
 * minutes at the end.
 */
const MOMENT = `CAST(60 * ln(1 + max(0, due_at - @nowMs) / 60000.0) AS INTEGER)`;

const ATTEMPTS = `
  SELECT min(due_at) AS due_at, count(*) AS count, id, event_type, attempts_made FROM (
    SELECT next_attempt_at AS due_at, id, event_type, attempts_made FROM deliveries
    WHERE next_attempt_at <= @untilMs ORDER BY next_attempt_at LIMIT ${MOST_LOOKED_AT}
  ) GROUP BY ${MOMENT} ORDER BY 1`;
const STEPS = `
  SELECT min(due_at) AS due_at, count(*) AS count, json_extract(step, '$.type') AS event_type FROM (
    SELECT due_at, step FROM agenda WHERE due_at <= @untilMs ORDER BY due_at, seq LIMIT ${MOST_LOOKED_AT}
  ) GROUP BY ${MOMENT} ORDER BY 1`;

/** Looks ahead in schedule time: which attempts and which steps of stories fall due, and when. Changes nothing. */
export function createAhead(options: { database: Database }) {
  const attempts = options.database.prepare<[Span], AttemptRow>(ATTEMPTS);
  const steps = options.database.prepare<[Span], StepRow>(STEPS);

  return function ahead(span: Span): Ahead {
    const waiting = attempts.all(span).map((row): Due => ({
      kind: "attempt",
      dueAtMs: row.due_at,
      count: row.count,
      deliveryId: row.id,
      eventType: row.event_type,
      number: row.attempts_made + 1,
    }));
    const told = steps.all(span).map((row): Due => ({
      kind: "step",
      dueAtMs: row.due_at,
      count: row.count,
      eventType: row.event_type,
    }));
    const hasMore = [waiting, told].some((due) => sumOf(due) >= MOST_LOOKED_AT);
    return { due: [...waiting, ...told].toSorted((a, b) => a.dueAtMs - b.dueAtMs), hasMore };
  };
}

/** From now to the end of the look ahead; what is overdue counts as due now. */
type Span = { nowMs: number; untilMs: number };

function sumOf(due: readonly Due[]): number {
  return due.reduce((sum, { count }) => sum + count, 0);
}
