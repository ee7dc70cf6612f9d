import { Router } from "express";
import { z } from "zod";
import { EVENT_TYPES, objectSchemas, type EventType } from "../../shared/events.ts";
import { sampleObjects } from "../../shared/samples.ts";
import { answerList } from "./answers.ts";

/** When each event is emitted (SPEC §6 Event types). */
const EMITTED_WHEN: Record<EventType, string> = {
  "call.completed": "A call has ended, whatever came of it.",
  "call.transferred": "A caller is handed to the staff line.",
  "voicemail.created": "A caller has left a voicemail.",
  "order.created": "A restaurant's agent has confirmed an order.",
  "booking.created": "A service business's agent has booked an appointment.",
};

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
