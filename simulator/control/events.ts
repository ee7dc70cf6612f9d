import { Router, type Response } from "express";
import { z } from "zod";
import { envelopeSchema, EVENT_TYPES, objectSchemas, type EventType } from "../../shared/events.ts";
import { sampleObjects } from "../../shared/samples.ts";
import { parseEventType } from "../domain/event-type.ts";
import { OPTION_BOUNDS } from "../option-bounds.ts";
import type { Simulator } from "../simulator.ts";
import { answerError, answerList, answerPage, answerRefusal, readBody, readQuery } from "./answers.ts";
import { faultsSchema, nameSchema, pageSchema } from "./schemas.ts";
import { deliveryView, emittedView, eventView } from "./views.ts";

/** What one request replays at most: what a developer's machine takes without a pause. */
const MOST_ENVELOPES = 1_000;

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

/** When each event is emitted (SPEC §6 Event types). */
const EMITTED_WHEN: Record<EventType, string> = {
  "call.completed": "A call has ended, whatever came of it.",
  "call.transferred": "A caller is handed to the staff line.",
  "voicemail.created": "A caller has left a voicemail.",
  "order.created": "A restaurant's agent has confirmed an order.",
  "booking.created": "A service business's agent has booked an appointment.",
};

/** Events: let one happen, send recorded ones again, look at what was emitted. */
export function eventRoutes(simulator: Simulator): Router {
  const { events, deliveries } = simulator;
  const router = Router();

  router.post("/events", (request, response) => {
    const body = readBody(triggerSchema, request, response);
    if (body === undefined) return;
    const { org_id: orgId, object, count, faults } = body;
    const type = parseEventType(body.type);
    if (!type.ok) return answerError(response, 400, "invalid_request", type.message);
    const result = events.emit({ type: type.type, orgId, object, faults }, count);
    if (!result.ok) return answerRefusal(response, result);
    response.status(202).json(emittedView(result.emitted));
  });

  router.post("/replay", (request, response) => {
    const body = readBody(replaySchema, request, response);
    if (body === undefined) return;
    const { envelopes, new_ids: newIds, endpoint_id: endpointId, faults } = body;
    const replayed = events.replay(envelopes, { newIds, endpointId, faults });
    if (!replayed.ok) return answerRefusal(response, replayed);
    response.status(202).json(emittedView(replayed.emitted));
  });

  router.get("/events", (request, response) => {
    const query = readQuery(listSchema, request, response);
    if (query === undefined) return;
    const { limit, type, org_id: orgId, q: text, starting_after: after } = query;
    if (after !== undefined && events.find(after) === undefined) return answerNoEvent(response, after);
    const page = events.page({ limit, after, type, orgId, text });
    answerPage(response, page.events.map(eventView), page.next);
  });

  router.get("/events/:id", (request, response) => {
    const event = events.find(request.params.id);
    const summary = events.summary(request.params.id);
    if (!event || !summary) return answerNoEvent(response, request.params.id);
    const own = deliveries.page({ eventId: event.id, limit: MOST_ENVELOPES });
    response.json({
      ...eventView(summary),
      envelope: envelopeSchema.parse(JSON.parse(event.body.toString())),
      deliveries: own.deliveries.map(deliveryView),
    });
  });

  return router;
}

function answerNoEvent(response: Response, id: string): void {
  answerError(response, 404, "not_found", `There is no event ${JSON.stringify(id)}.`);
}

/** The event types with the JSON Schema of their object and an example, for forms. */
export function eventTypeRoutes(): Router {
  const types = EVENT_TYPES.map((type) => ({
    type,
    emitted_when: EMITTED_WHEN[type],
    schema: z.toJSONSchema(objectSchemas[type]),
    example: sampleObjects[type],
  }));
  const router = Router();
  router.get("/event-types", (_request, response) => answerList(response, types));
  return router;
}
