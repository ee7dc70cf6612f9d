import { envelopeSchema } from "../../shared/events.ts";
import type { Attempt } from "../domain/attempts.ts";
import type { Delivery } from "../domain/deliveries.ts";
import type { Endpoint } from "../domain/endpoints.ts";
import type { StoredEvent } from "../domain/events.ts";
import { formatFault } from "../domain/faults.ts";
import type { Simulator } from "../simulator.ts";
import { signatureView } from "./signature-view.ts";

/** How the control API shows things: snake_case, schedule times as ISO 8601, wall times named so. */

/** An endpoint without its secret, of which only the last four characters are ever shown again. */
export function endpointView(endpoint: Endpoint) {
  return {
    object: "endpoint",
    id: endpoint.id,
    org_id: endpoint.orgId,
    url: endpoint.url,
    event_types: endpoint.eventTypes,
    faults: endpoint.faults.map(formatFault),
    flagged: endpoint.flagged,
    consecutive_failures: endpoint.consecutiveFailures,
    secret_last4: lastCharacters(endpoint.secret),
    created_at: iso(endpoint.createdAtMs),
  };
}

/** Enough to tell two secrets apart; of a short one that would be too much of it. */
function lastCharacters(secret: string): string {
  return secret.length < 12 ? "" : secret.slice(-4);
}

export function eventView(event: StoredEvent) {
  const { id, type, orgId, origin, createdAtMs } = event;
  return { object: "event", id, type, org_id: orgId, origin, created_at: iso(createdAtMs) };
}

/** An event with the envelope that was sent. */
export function eventDetailView(event: StoredEvent) {
  return { ...eventView(event), envelope: envelopeSchema.parse(JSON.parse(event.body.toString())) };
}

/** A delivery with its attempts, their outcomes and times. */
export function deliveryView(simulator: Simulator, delivery: Delivery) {
  const event = simulator.events.find(delivery.eventId);
  return {
    ...deliveryFields(delivery, event),
    attempts: simulator.attempts.ofDelivery(delivery.id).map(attemptView),
  };
}

/** A delivery with everything: what was sent on each attempt, byte for byte, and what came back. */
export function deliveryDetailView(simulator: Simulator, delivery: Delivery) {
  const event = simulator.events.find(delivery.eventId);
  const endpoint = simulator.endpoints.find(delivery.endpointId);
  const body = delivery.body ?? event?.body ?? Buffer.alloc(0);
  return {
    ...deliveryFields(delivery, event),
    url: endpoint?.url ?? null,
    attempts: simulator.attempts.ofDelivery(delivery.id).map((attempt) => ({
      ...attemptView(attempt),
      request: {
        headers: attempt.requestHeaders,
        body: (attempt.requestBody ?? body).toString(),
      },
      signature: signatureView(attempt, attempt.requestBody ?? body, endpoint?.secret),
      answer: attempt.answer && {
        headers: attempt.answer.headers,
        body: attempt.answer.body.toString(),
        truncated: attempt.answer.truncated,
      },
    })),
  };
}

export function clockView(simulator: Simulator) {
  const { clock, dispatcher, wall, deliveries } = simulator;
  const nextMs = dispatcher.nextDueMs();
  return {
    object: "clock",
    mode: clock.mode,
    now: iso(clock.now()),
    wall_now: iso(wall.nowMs()),
    next_attempt_at: nextMs === undefined ? null : iso(nextMs),
    deliveries: deliveries.counts(),
  };
}

function deliveryFields(delivery: Delivery, event: StoredEvent | undefined) {
  return {
    object: "delivery",
    id: delivery.id,
    event_id: delivery.eventId,
    event_type: event?.type ?? null,
    org_id: event?.orgId ?? null,
    endpoint_id: delivery.endpointId,
    state: delivery.state,
    created_at: iso(delivery.createdAtMs),
    next_attempt_at: delivery.nextAttemptAtMs === null ? null : iso(delivery.nextAttemptAtMs),
    faults: delivery.faults.map(formatFault),
    resend_of: delivery.resendOf,
  };
}

function attemptView(attempt: Attempt) {
  return {
    number: attempt.number,
    scheduled_at: iso(attempt.scheduledAtMs),
    started_at: iso(attempt.startedAtMs),
    ended_at: attempt.endedAtMs === null ? null : iso(attempt.endedAtMs),
    wall_started_at: iso(attempt.wallStartedAtMs),
    duration_ms: attempt.durationMs,
    signature_timestamp: attempt.signatureTimestamp,
    http_status: attempt.httpStatus,
    error: attempt.error,
    error_detail: attempt.errorDetail,
  };
}

function iso(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
