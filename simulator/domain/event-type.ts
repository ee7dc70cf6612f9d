import { EVENT_TYPES, isEventType, objectSchemas, type EventType } from "../../shared/events.ts";
import type { z } from "zod";
import { didYouMean, type Refused, refused } from "./refused.ts";

/** When each event is emitted (SPEC §6 Event types). */
export const EMITTED_WHEN: Readonly<Record<EventType, string>> = {
  "call.completed": "A call has ended, with any outcome.",
  "call.transferred": "A caller was warm-transferred to the staff line.",
  "voicemail.created": "A caller has left a voicemail.",
  "order.created": "Restaurants: an order was confirmed by the AI agent.",
  "booking.created": "Service businesses: an appointment was booked by the AI agent.",
};

export type ParsedEventType = { ok: true; type: EventType } | Refused;

export function parseEventType(text: string): ParsedEventType {
  if (isEventType(text)) return { ok: true, type: text };
  return refused(
    `Unknown event type ${JSON.stringify(text)}.${didYouMean(text, EVENT_TYPES)} The types are ${EVENT_TYPES.join(", ")}.`,
  );
}

/** Which field of `object` an event of `type` cannot have, and why; undefined if all are valid. */
export function objectProblem(
  type: EventType,
  object: Readonly<Record<string, unknown>>,
): string | undefined {
  if (hasOpenShape(type)) return undefined;
  const shape: Record<string, z.ZodType> = objectSchemas[type].shape;
  const fields = Object.keys(shape);
  for (const [field, value] of Object.entries(object)) {
    const schema = Object.hasOwn(shape, field) ? shape[field] : undefined;
    if (schema === undefined)
      return `${field}: ${type} has no such field.${didYouMean(field, fields)} It has ${fields.join(", ")}.`;
    const problem = schema.safeParse(value).error?.issues[0];
    if (problem !== undefined) return `${[field, ...problem.path].join(".")}: ${problem.message}.`;
  }
  return undefined;
}

/** Whether only the kind of the event's object is published (orders, bookings): nothing may rely on its other fields. */
export function hasOpenShape(type: string): boolean {
  return isEventType(type) && Object.keys(objectSchemas[type].shape).length === 1;
}
