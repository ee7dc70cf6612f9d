import type { Database } from "better-sqlite3";
import { type Attempts, type AttemptSummary, blameOf, type JudgedAttempt } from "./attempts.ts";
import { DELIVERY_COLUMNS } from "./deliveries.ts";
import { readFaults } from "./endpoints.ts";
import { formatFault, formatFaults, injectedFaults } from "./faults.ts";
import type { deliverySchema, Handling } from "./shapes.ts";
import type { Kept } from "./spelling.ts";
import { judgeDelivery } from "./verdict.ts";

export type DeliverySummary = Omit<Kept<typeof deliverySchema>, "attempts"> & { attempts: JudgedAttempt[] };

type SummaryRow = Omit<DeliverySummary, "faults" | "attempts" | "handling" | "verdict"> &
  Record<Exclude<keyof Handling, "isSettled" | "state">, number | null> & {
    faults: string;
    handlingState: string | null;
    isSettled: number | null;
    isAgain: number;
  };

// The plus keeps the subquery off the index of the endpoint, which would lead through all that it ever got.
const SUMMARIES = `
  SELECT ${DELIVERY_COLUMNS}, e.org_id AS orgId, e.summary,
    CASE d.state WHEN 'dead' THEN (
      SELECT l.id FROM deliveries l WHERE l.event_id = d.event_id AND +l.endpoint_id = d.endpoint_id AND l.seq > d.seq
        AND l.state = 'delivered' ORDER BY l.seq LIMIT 1
    ) END AS recoveredBy, h.handled, h.duplicates, h.state AS handlingState, h.is_settled AS isSettled,
    EXISTS (
      SELECT 1 FROM deliveries p WHERE p.event_id = d.event_id AND +p.endpoint_id = d.endpoint_id AND p.seq < d.seq
        AND (p.state = 'delivered' OR p.faults LIKE '%"drop-answer%' OR p.faults LIKE '%"time-out%')
    ) AS isAgain
  FROM deliveries d JOIN events e ON e.id = d.event_id
  LEFT JOIN handlings h ON h.event_id = d.event_id AND h.endpoint_id = d.endpoint_id
  WHERE d.id IN (SELECT value FROM json_each(?)) ORDER BY d.seq DESC`;
export type DeliverySummaries = ReturnType<typeof createDeliverySummaries>;

export function createDeliverySummaries(options: { database: Database; attempts: Attempts }) {
  const { database, attempts } = options;
  const summaries = database.prepare<[string], SummaryRow>(SUMMARIES);

  function ofIds(ids: readonly string[]): DeliverySummary[] {
    const rows = summaries.all(JSON.stringify(ids));
    const made = attempts.summariesOf(ids);
    return rows.map((row) => fromRow(row, made.get(row.id) ?? []));
  }

  return { ofIds, find: (id: string): DeliverySummary | undefined => ofIds([id])[0] };
}

function fromRow(row: SummaryRow, made: readonly AttemptSummary[]): DeliverySummary {
  const { handled, duplicates, handlingState, isSettled, isAgain, ...delivery } = row;
  const faults = readFaults(row.faults);
  const attempts = made.map((attempt) => {
    const injected = injectedFaults(faults, attempt.number);
    const fault = injected.length === 0 ? null : formatFaults(injected);
    return { ...attempt, injected, fault, blame: blameOf(attempt, injected) };
  });
  const handling =
    handled === null ? null : { handled, duplicates, state: handlingState, isSettled: isSettled === 1 };
  const isRecovered = row.recoveredBy !== null;
  const verdict = judgeDelivery({
    state: row.state,
    attempts,
    handling,
    isAgain: isAgain === 1,
    isRecovered,
  });
  return { ...delivery, faults: faults.map(formatFault), attempts, handling, verdict };
}
