import { requestLine } from "../domain/attempt-request.ts";
import type { EmittedEvent } from "../domain/emitter.ts";
import { type Endpoint, shownEndpoint, knownSecrets } from "../domain/endpoints.ts";
import { countSchema, jobSchema } from "../domain/job-shapes.ts";
import {
  answersSchema,
  clockSchema,
  deliveryDetailSchema,
  deliverySchema,
  dueSchema,
  emittedSchema,
  type EmittedShape,
  type EndpointShape,
  endpointSchema,
  eventSchema,
  historySchema,
  type DeliveryDetailShape,
} from "../domain/shapes.ts";
import { viewOf } from "../domain/spelling.ts";
import type { DeliveryDetail } from "../verbs/deliveries.ts";
import type { Simulator } from "../verbs/simulator.ts";
import { signatureView } from "./signature-view.ts";

/** How the control API shows objects, by their shapes (`domain/shapes.ts`). */

export const eventView = viewOf(eventSchema);
export const deliveryView = viewOf(deliverySchema);
export const countView = viewOf(countSchema);
export const jobView = viewOf(jobSchema);
export const historyView = viewOf(historySchema);
export const answersView = viewOf(answersSchema);
export const dueView = viewOf(dueSchema);

const endpointFields = viewOf(endpointSchema);
const detailFields = viewOf(deliveryDetailSchema);
const emittedFields = viewOf(emittedSchema);
const clockFields = viewOf(clockSchema);

/** An endpoint without its secret, except for the last four characters. */
export function endpointView(endpoint: Endpoint): EndpointShape {
  return endpointFields(shownEndpoint(endpoint));
}

export function deliveryDetailView({ summary, endpoint, attempts }: DeliveryDetail): DeliveryDetailShape {
  return detailFields({
    ...summary,
    url: endpoint?.url ?? null,
    attempts: attempts.map((attempt) => ({
      ...attempt,
      request: {
        url: attempt.requestUrl,
        line: requestLine(attempt.requestUrl),
        headers: attempt.requestHeaders,
        body: attempt.sentBody.toString(),
      },
      signature: signatureView(attempt, attempt.sentBody, endpoint ? knownSecrets(endpoint) : []),
      answer: attempt.answer && { ...attempt.answer, body: attempt.answer.body.toString() },
    })),
  });
}

export function emittedView(emitted: readonly EmittedEvent[]): EmittedShape {
  return emittedFields({
    events: emitted.map(({ event }) => event),
    deliveries: emitted.flatMap(({ event, deliveries }) =>
      deliveries.map((delivery) => ({ ...delivery, eventId: event.id })),
    ),
  });
}

export function clockView({ clock, counts, verdicts }: Simulator) {
  return clockFields({
    mode: clock.mode,
    nowMs: clock.now(),
    wallNowMs: clock.wallNowMs(),
    nextAttemptAtMs: clock.nextDueMs() ?? null,
    deliveries: counts.deliveries().byState,
    lost: counts.lost(),
    verdicts: { isObserved: verdicts.isObserved(), counts: verdicts.counts() },
  });
}
