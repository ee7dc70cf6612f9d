import { setImmediate } from "node:timers/promises";
import type { Router } from "express";
import { z } from "zod";
import { envelopeSchema, EVENT_TYPES, type EventType, objectSchemas } from "../../shared/events.ts";
import { sampleObjects } from "../../shared/samples.ts";
import type { EmittedEvent } from "../domain/emitter.ts";
import type { DeliverySummary } from "../domain/delivery-summaries.ts";
import type { EventSummary } from "../domain/events.ts";
import { EMITTED_WHEN, parseEventType } from "../domain/event-type.ts";
import { parseExactly } from "../domain/exact-json.ts";
import { OPTION_BOUNDS } from "../domain/option-bounds.ts";
import { notFound } from "../domain/refused.ts";
import type { Simulator } from "../verbs/simulator.ts";
import { answerList, answerPage, orRefuse, readBody, readQuery } from "./answers.ts";
import { faultsSchema, nameSchema, pageSchema } from "./schemas.ts";
import { deliveryView, emittedView, eventView } from "./views.ts";

/** Maximum number of envelopes in one request: what a developer's machine handles without a pause. */
const MOST_ENVELOPES = 1_000;

/** Events triggered in one turn of the event loop: 20 to 50 ms of work. */
const MOST_A_TURN = 100;

const triggerSchema = z.strictObject({
  type: nameSchema,
  object: z.record(z.string(), z.unknown()).optional(),
  org_id: nameSchema.optional(),
  count: z.int().min(OPTION_BOUNDS.count[0]).max(OPTION_BOUNDS.count[1]).default(1),
  faults: faultsSchema.optional(),
});
const replaySchema = z.strictObject({
  envelopes: z
    .array(envelopeSchema.extend({ type: nameSchema, org_id: nameSchema }))
    .min(1)
    .max(MOST_ENVELOPES),
  new_ids: z.boolean().default(false),
  endpoint_id: z.string().optional(),
  faults: faultsSchema.optional(),
});
const listSchema = pageSchema.extend({ type: z.string().optional(), org_id: z.string().optional() });

export function eventRoutes(router: Router, simulator: Simulator): void {
  const { events, deliveries } = simulator;
  router.post("/events", async (request, response) => {
    const body = readBody(triggerSchema, request);
    const { org_id: orgId, object, count, faults } = body;
    const { type } = orRefuse(parseEventType(body.type));
    const emitted: EmittedEvent[] = [];
    while (emitted.length < count) {
      const some = Math.min(MOST_A_TURN, count - emitted.length);
      // Refuses invalid events before any of them is triggered.
      emitted.push(...orRefuse(events.emit({ type, orgId, object, faults }, some)).emitted);
      await setImmediate();
    }
    response.status(202).json(emittedView(emitted));
  });

  router.post("/replay", (request, response) => {
    const body = readBody(replaySchema, request);
    const { envelopes, new_ids: newIds, endpoint_id: endpointId, faults } = body;
    const { emitted } = orRefuse(events.replay(envelopes, { newIds, endpointId, faults }));
    response.status(202).json(emittedView(emitted));
  });

  router.get("/events", (request, response) => {
    const query = readQuery(listSchema, request);
    const { limit, type, org_id: orgId, q, starting_after: after } = query;
    if (after !== undefined && events.find(after) === undefined) orRefuse(notFound("event", after));
    const page = events.page({ limit, after, type, orgId, text: q === "" ? undefined : q });
    answerPage(response, page.events.map(eventView), page.next);
  });

  router.get("/events/:id", (request, response) => {
    const { id } = request.params;
    const [event, summary] = [events.find(id), events.summary(id)];
    const known = orRefuse(event && summary ? { ok: true as const, event, summary } : notFound("event", id));
    const own = deliveries.page({ eventId: id, limit: MOST_ENVELOPES });
    response.json(eventDetailView(known.summary, known.event.body, own.deliveries));
  });
}

/** The event types with the JSON Schema of their object and an example, for forms. */
export function eventTypeRoutes(router: Router): void {
  const types = EVENT_TYPES.map(eventTypeView);
  router.get("/event-types", (_request, response) => answerList(response, types));
}

export function eventTypeView(type: EventType) {
  return {
    type,
    emitted_when: EMITTED_WHEN[type],
    schema: z.toJSONSchema(objectSchemas[type]),
    example: sampleObjects[type],
  };
}

export function eventDetailView(summary: EventSummary, body: Buffer, deliveries: readonly DeliverySummary[]) {
  return {
    ...eventView(summary),
    envelope: envelopeSchema.parse(parseExactly(body.toString())),
    deliveries: deliveries.map(deliveryView),
  };
}
