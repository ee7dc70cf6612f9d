import type { Attempt, Delivery } from "../../../simulator/dashboard/app/core/types.ts";

/** Minutes after eight. */
export const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 8, minute)).toISOString();

export function attemptAt(minute: number, status: number): Attempt {
  return {
    number: 1,
    scheduled_at: at(minute),
    started_at: at(minute),
    ended_at: at(minute),
    wall_started_at: at(minute),
    duration_ms: 1,
    signature_timestamp: 0,
    http_status: status,
    error: null,
    error_detail: null,
    fault: null,
    blame: null,
  };
}

export function deliveryAt(minute: number, id: string, more: Partial<Delivery> = {}): Delivery {
  return {
    object: "delivery",
    id,
    event_id: `evt_${id}`,
    event_type: "call.completed",
    org_id: "org_1",
    endpoint_id: "ep_1",
    state: "delivered",
    created_at: at(minute),
    next_attempt_at: null,
    faults: [],
    resend_of: null,
    recovered_by: null,
    summary: id,
    verdict: { meant: "honest", result: "ok", sentence: "Acknowledged", cause: null, why: null },
    handling: null,
    attempts: [attemptAt(minute, 200)],
    ...more,
  };
}
