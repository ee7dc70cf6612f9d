import type { z } from "zod";
import type { Due } from "../domain/ahead.ts";
import { requestLine } from "../domain/attempt-request.ts";
import type { JudgedAttempt } from "../domain/blame.ts";
import type { DeliverySummary } from "../domain/delivery-summaries.ts";
import type { EmittedEvent } from "../domain/emitter.ts";
import type { Endpoint } from "../domain/endpoints.ts";
import type { EventSummary } from "../domain/events.ts";
import { formatFault, formatFaults } from "../domain/faults.ts";
import type { HistoryAnswer } from "../domain/history.ts";
import { knownSecrets } from "../domain/signing-secrets.ts";
import type { Simulator } from "../verbs/simulator.ts";
import type { DeliveryCount } from "../domain/counts.ts";
import type { Job } from "../verbs/jobs.ts";
import type { DeliveryDetail, EndpointAnswers } from "../verbs/deliveries.ts";
import type {
  AttemptShape,
  clockSchema,
  DeliveryDetailShape,
  DeliveryShape,
  EmittedShape,
  EndpointShape,
  EventShape,
  CountShape,
  JobShape,
} from "../domain/shapes.ts";
import { signatureView } from "./signature-view.ts";

/** How the control API shows things: snake_case, schedule times as ISO 8601, wall times named so. */

/** An endpoint without its secret, of which only the last four characters are ever shown again. */
export function endpointView(endpoint: Endpoint): EndpointShape {
  const { previousSecret: previous } = endpoint;
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
    previous_secret_last4: previous === null ? null : lastCharacters(previous.secret),
    previous_secret_until: previous === null ? null : iso(previous.untilMs),
    created_at: iso(endpoint.createdAtMs),
  };
}

/** Enough to tell two secrets apart; of a short one that would be too much of it. */
function lastCharacters(secret: string): string {
  return secret.length < 12 ? "" : secret.slice(-4);
}

/** How an endpoint has answered lately: figures, and the last attempts, oldest first. */
export function answersView({ figures, attempts }: EndpointAnswers) {
  const { counted, acknowledged, p95Ms } = figures;
  return {
    object: "answers",
    counted,
    acknowledged,
    p95_ms: p95Ms,
    attempts: attempts.map((attempt) => ({ delivery_id: attempt.deliveryId, ...attemptView(attempt) })),
  };
}

export function eventView(event: EventSummary): EventShape {
  const { id, type, orgId, origin, createdAtMs, summary } = event;
  return { object: "event", id, type, org_id: orgId, origin, created_at: iso(createdAtMs), summary };
}

/** A delivery with its attempts, their outcomes and times, whose doing a failure is, and what the event is about. */
export function deliveryView(delivery: DeliverySummary): DeliveryShape {
  return {
    object: "delivery",
    id: delivery.id,
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    org_id: delivery.orgId,
    endpoint_id: delivery.endpointId,
    state: delivery.state,
    created_at: iso(delivery.createdAtMs),
    next_attempt_at: delivery.nextAttemptAtMs === null ? null : iso(delivery.nextAttemptAtMs),
    faults: delivery.faults.map(formatFault),
    resend_of: delivery.resendOf,
    recovered_by: delivery.recoveredBy,
    summary: delivery.summary,
    verdict: delivery.verdict,
    handling: handlingView(delivery),
    attempts: delivery.attempts.map(attemptView),
  };
}

/** What the receiver tells of the event, or null where nobody observes it. */
function handlingView({ handling }: DeliverySummary): DeliveryShape["handling"] {
  if (handling === undefined) return null;
  const { handled, duplicates, state, isSettled } = handling;
  return { handled, duplicates, state, is_settled: isSettled };
}

/** A delivery with everything: what was sent on each attempt, byte for byte, and what came back. */
export function deliveryDetailView({ summary, endpoint, attempts }: DeliveryDetail): DeliveryDetailShape {
  return {
    ...deliveryView(summary),
    url: endpoint?.url ?? null,
    attempts: attempts.map((attempt) => ({
      ...attemptView(attempt),
      request: {
        url: attempt.requestUrl,
        line: requestLine(attempt.requestUrl),
        headers: attempt.requestHeaders,
        body: attempt.sentBody.toString(),
      },
      signature: signatureView(attempt, attempt.sentBody, endpoint ? knownSecrets(endpoint) : []),
      answer: attempt.answer && {
        headers: attempt.answer.headers,
        body: attempt.answer.body.toString(),
        truncated: attempt.answer.truncated,
      },
    })),
  };
}

/** How many deliveries a selection has, by endpoint and event type. */
export function countView({ total, counts }: DeliveryCount): CountShape {
  return { object: "count", total, counts };
}

export function jobView({ createdAtMs, endedAtMs, ...job }: Job): JobShape {
  return {
    object: "job",
    ...job,
    created_at: iso(createdAtMs),
    ended_at: endedAtMs === null ? null : iso(endedAtMs),
  };
}

/** What was sent over a period, slot by slot. */
export function historyView({ sinceMs, slotMs, slots, created, lost }: HistoryAnswer) {
  return {
    object: "history",
    slot_seconds: slotMs / 1_000,
    deliveries: created,
    lost,
    slots: slots.map(({ sent, acknowledged, failed, meanMs, longestMs }, index) => ({
      started_at: iso(sinceMs + index * slotMs),
      sent,
      acknowledged,
      failed,
      mean_ms: meanMs,
      longest_ms: longestMs,
    })),
  };
}

/** What was set off: the events, and their deliveries. */
export function emittedView(emitted: readonly EmittedEvent[]): EmittedShape {
  return {
    events: emitted.map(({ event }) => ({ id: event.id, type: event.type, org_id: event.orgId })),
    deliveries: emitted.flatMap(({ event, deliveries }) =>
      deliveries.map(({ id, endpointId }) => ({ id, event_id: event.id, endpoint_id: endpointId })),
    ),
  };
}

export function clockView(simulator: Simulator): z.infer<typeof clockSchema> {
  const { clock, counts } = simulator;
  const nextMs = clock.nextDueMs();
  return {
    object: "clock",
    mode: clock.mode,
    now: iso(clock.now()),
    wall_now: iso(clock.wallNowMs()),
    next_attempt_at: nextMs === undefined ? null : iso(nextMs),
    deliveries: counts.deliveries().byState,
    lost: counts.lost(),
    verdicts: verdictsView(simulator),
  };
}

/** What falls due at about one moment; of several, the first is named. */
export function dueView({ kind, dueAtMs, count, eventType, deliveryId, number }: Due) {
  return {
    object: "due",
    kind,
    due_at: iso(dueAtMs),
    count,
    event_type: eventType,
    delivery_id: deliveryId,
    attempt: number,
  };
}

/** How many deliveries to each endpoint were meant so and ended so, and whether receivers are asked what they did. */
function verdictsView({ verdicts }: Simulator) {
  return {
    is_observed: verdicts.isObserved(),
    counts: verdicts.counts().map(({ endpointId, meant, verdict, count }) => ({
      endpoint_id: endpointId,
      meant,
      result: verdict,
      count,
    })),
  };
}

function attemptView(attempt: JudgedAttempt): AttemptShape {
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
    fault: attempt.injected.length === 0 ? null : formatFaults(attempt.injected),
    blame: attempt.blame,
  };
}

function iso(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
