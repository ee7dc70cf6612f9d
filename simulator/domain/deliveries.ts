import type { Database } from "better-sqlite3";
import { readFaults } from "./endpoints.ts";
import { formatFault, type Fault } from "./faults.ts";
import type { DeliveryState } from "./outcome.ts";
import { stableId } from "./random.ts";
import { deliverySchema, type VerdictResult } from "./shapes.ts";
import type { CamelCase } from "./names.ts";
import { columnsOf, type Kept } from "./spelling.ts";

/** Fields of a delivery that are stored in other tables, or derived. */
const DERIVED = ["org_id", "recovered_by", "summary", "verdict", "handling", "attempts"] as const;

export const DELIVERY_COLUMNS = columnsOf(deliverySchema, DERIVED, "d.");

/** One event for one endpoint, as the table has it. */
export type Delivery = Omit<Kept<typeof deliverySchema>, "faults" | CamelCase<(typeof DERIVED)[number]>> & {
  seq: number;
  attemptsMade: number;
  faults: Fault[];
  /** The bytes to send, if they differ from the event's. */
  body: Buffer | null;
};

/** A due delivery, with the bytes to send and the verdict so far. */
export type DueDelivery = Pick<Delivery, "seq" | "id" | "endpointId" | "attemptsMade" | "faults"> & {
  dueAtMs: number;
  body: Buffer;
  verdict: VerdictResult;
  cause: string | null;
};

export type NewDelivery = Pick<
  Delivery,
  "eventId" | "eventType" | "endpointId" | "createdAtMs" | "faults"
> & { dueAtMs: number; body?: Buffer | null | undefined; resendOf?: string };

type DeliveryRow = Omit<Delivery, "faults"> & { faults: string };
type DueRow = Omit<DueDelivery, "endpointId" | "faults"> & { faults: string };

const INSERT = `
  INSERT INTO deliveries (id, event_id, event_type, endpoint_id, state, created_at, next_attempt_at, faults, body,
    resend_of)
  VALUES (?, ?, ?, ?, 'attempting', ?, ?, ?, ?, ?)`;
const FIND = `
  SELECT seq, ${DELIVERY_COLUMNS}, attempts_made AS attemptsMade, body FROM deliveries d WHERE id = ?`;
// With a bare parameter after ORDER BY or LIMIT, SQLite plans the statement again at each run, which takes ten times as long
// as running it: hence (SELECT ?).
const DUE = `
  SELECT d.seq, d.id, d.attempts_made AS attemptsMade, d.faults, d.next_attempt_at AS dueAtMs, d.verdict, d.cause,
    coalesce(d.body, e.body) AS body
  FROM deliveries d JOIN events e ON e.id = d.event_id
  WHERE d.endpoint_id = (SELECT ?) AND d.next_attempt_at <= ?
  ORDER BY d.next_attempt_at, d.seq LIMIT (SELECT ?)`;
// Steps from endpoint to endpoint through the index: a thousand waiting deliveries of one endpoint cost as much as one.
const WAITING_ENDPOINTS = `
  WITH RECURSIVE waiting (endpoint_id) AS (
    SELECT min(endpoint_id) FROM deliveries WHERE next_attempt_at IS NOT NULL
    UNION ALL
    SELECT (
      SELECT min(endpoint_id) FROM deliveries
      WHERE next_attempt_at IS NOT NULL AND endpoint_id > waiting.endpoint_id
    )
    FROM waiting WHERE waiting.endpoint_id IS NOT NULL
  )`;
const ENDPOINTS_WITH_DUE = `
  ${WAITING_ENDPOINTS}
  SELECT endpoint_id FROM waiting
  WHERE endpoint_id IS NOT NULL AND EXISTS (
    SELECT 1 FROM deliveries WHERE deliveries.endpoint_id = waiting.endpoint_id AND next_attempt_at <= ?
  )`;
const NEXT_DUE = `
  ${WAITING_ENDPOINTS}
  SELECT min((
    SELECT min(next_attempt_at) FROM deliveries
    WHERE deliveries.endpoint_id = waiting.endpoint_id AND next_attempt_at IS NOT NULL
  )) FROM waiting`;
const TAKE = `UPDATE deliveries SET next_attempt_at = NULL, attempts_made = attempts_made + 1 WHERE seq = ?`;
const POSTPONE = `UPDATE deliveries SET next_attempt_at = ? WHERE seq = ?`;
const SETTLE = `UPDATE deliveries SET state = ?, next_attempt_at = NULL WHERE seq = ?`;
const HURRY = `UPDATE deliveries SET next_attempt_at = ? WHERE id = ? AND next_attempt_at > ?`;
const ABANDON = `
  UPDATE deliveries SET state = 'dead', next_attempt_at = NULL
  WHERE endpoint_id = ? AND next_attempt_at IS NOT NULL RETURNING id`;
// The table's counter, not its last row: ids continue after a reset, since receivers keep them.
const LAST_SEQ = `SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'deliveries'`;

export type Deliveries = ReturnType<typeof createDeliveries>;

/** The deliveries and their due attempts. Independent of HTTP. */
export function createDeliveries(options: { database: Database; seed: number }) {
  const { database, seed } = options;
  const insert = database.prepare(INSERT);
  const find = database.prepare<[string], DeliveryRow>(FIND);
  const due = database.prepare<[string, number, number], DueRow>(DUE);
  const endpointsWithDue = database.prepare<[number], string>(ENDPOINTS_WITH_DUE).pluck();
  const nextDue = database.prepare<[], number | null>(NEXT_DUE).pluck();
  const take = database.prepare(TAKE);
  const postpone = database.prepare(POSTPONE);
  const settle = database.prepare(SETTLE);
  const hurry = database.prepare(HURRY);
  const abandon = database.prepare<[string], string>(ABANDON).pluck();
  const lastSeq = database.prepare<[], number>(LAST_SEQ).pluck();

  return {
    create(delivery: NewDelivery): string {
      const id = stableId("dlv_", 16, { seed, purpose: "delivery", index: (lastSeq.get() ?? 0) + 1 });
      const { eventId, eventType, endpointId, createdAtMs, dueAtMs, body = null, resendOf = null } = delivery;
      const faults = JSON.stringify(delivery.faults.map(formatFault));
      insert.run(id, eventId, eventType, endpointId, createdAtMs, dueAtMs, faults, body, resendOf);
      return id;
    },
    find(id: string): Delivery | undefined {
      const row = find.get(id);
      return row && { ...row, faults: readFaults(row.faults) };
    },
    due: (endpointId: string, nowMs: number, limit: number): DueDelivery[] =>
      due
        .all(endpointId, nowMs, limit)
        .map((row) => ({ ...row, endpointId, faults: readFaults(row.faults) })),
    endpointsWithDue: (nowMs: number): string[] => endpointsWithDue.all(nowMs),
    nextDueMs: (): number | undefined => nextDue.get() ?? undefined,
    /** Marks a delivery as in flight and counts the attempt. */
    take: ({ seq }: Pick<Delivery, "seq">): void => void take.run(seq),
    postpone: ({ seq }: Pick<Delivery, "seq">, nextAttemptAtMs: number): void =>
      void postpone.run(nextAttemptAtMs, seq),
    settle: ({ seq }: Pick<Delivery, "seq">, state: Exclude<DeliveryState, "attempting">): void =>
      void settle.run(state, seq),
    /** Makes a waiting delivery's next attempt due at `nowMs`; false if none is waiting for later. */
    hurry: (id: string, nowMs: number): boolean => hurry.run(nowMs, id, nowMs).changes > 0,
    abandon: (endpointId: string): string[] => abandon.all(endpointId),
  };
}
