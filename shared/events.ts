import { z } from "zod";
import { bookingSchema, callSchema, orderSchema, voicemailSchema } from "./resources.ts";

/** Every event type of the service, in the order of its table (SPEC §6 Event types). */
export const EVENT_TYPES = [
  "call.completed",
  "call.transferred",
  "voicemail.created",
  "order.created",
  "booking.created",
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** `evt_` and 32 hexadecimal characters; the same on every attempt of one event. */
export const eventIdSchema = z
  .string()
  .regex(/^evt_[0-9a-fA-F]{32}$/, "expected evt_ followed by 32 hexadecimal characters");

/** The body of every delivery, whatever its type (SPEC §6 Delivery). */
export const envelopeSchema = z.looseObject({
  id: eventIdSchema,
  type: z.string(),
  /** Unix time in seconds. */
  created: z.int(),
  api_version: z.string(),
  data: z.looseObject({ object: z.looseObject({ object: z.string() }) }),
  org_id: z.string(),
});

export type Envelope = z.infer<typeof envelopeSchema>;

/** The schema of `data.object` for each event type. */
export const objectSchemas = {
  "call.completed": callSchema,
  "call.transferred": callSchema,
  "voicemail.created": voicemailSchema,
  "order.created": orderSchema,
  "booking.created": bookingSchema,
} as const satisfies Record<EventType, z.ZodType>;

/** `data.object` of an event of type `Type`. */
export type EventObject<Type extends EventType> = z.infer<(typeof objectSchemas)[Type]>;

/** The schema of the whole envelope of one event type. */
export function eventSchema<Type extends EventType>(type: Type) {
  return envelopeSchema.extend({
    type: z.literal(type),
    data: z.looseObject({ object: objectSchemas[type] }),
  });
}

/** Whether `type` is one that the service documents; others may appear at any time and are no error. */
export function isEventType(type: string): type is EventType {
  return EVENT_TYPES.some((known) => known === type);
}
