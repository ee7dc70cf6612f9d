import { z } from "zod";

/**
 * The REST resources, field by field (SPEC §2). Every object is loose: fields that the service adds later are kept,
 * since adding one is not a breaking change (SPEC §9). String fields whose full set of values the service does not
 * publish (outcome, status, reason, …) are plain strings for the same reason.
 */

/** `2026-01-31T18:05:09Z`: ISO 8601, UTC, whole seconds. */
export const timestampSchema = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/, "expected a UTC timestamp such as 2026-01-31T18:05:09Z");

/** International format with a leading +. */
export const phoneSchema = z.string().regex(/^\+[0-9]+$/, "expected a phone number such as +12125550123");

export const organizationSchema = z.looseObject({
  object: z.literal("organization"),
  id: z.string(),
  name: z.string(),
  industry: z.string(),
  subscription_tier: z.string(),
  subscription_status: z.string(),
  created_at: timestampSchema,
  api_scopes: z.array(z.string()),
});

export const agentSchema = z.looseObject({
  object: z.literal("agent"),
  id: z.string().startsWith("ag_"),
  name: z.string(),
  persona_id: z.string(),
  voice_id: z.string(),
  phone_number: phoneSchema,
  status: z.string(),
  greeting_style: z.string(),
  created_at: timestampSchema,
  updated_at: timestampSchema,
});

export const callSchema = z.looseObject({
  object: z.literal("call"),
  id: z.string().startsWith("call_"),
  agent_id: z.string().startsWith("ag_"),
  phone: phoneSchema,
  duration_sec: z.int().nonnegative(),
  outcome: z.string(),
  transcript: z.string(),
  recording_url: z.string(),
  transferred: z.boolean(),
  // Null when the call was not transferred. The other form is not documented, so no code may depend on one.
  transfer_to: z.unknown(),
  transfer_succeeded: z.unknown(),
  detected_language: z.string(),
  created_at: timestampSchema,
});

export const voicemailSchema = z.looseObject({
  object: z.literal("voicemail"),
  id: z.string().startsWith("vm_"),
  call_id: z.string(),
  phone: phoneSchema,
  customer_name: z.string(),
  message_text: z.string(),
  reason: z.string(),
  reviewed: z.boolean(),
  callback_made: z.boolean(),
  notes: z.string().nullable(),
  created_at: timestampSchema,
});

/** Only the kind is known: the service does not publish the fields of an order. */
export const orderSchema = z.looseObject({ object: z.literal("order") });

/** Only the kind is known: the service does not publish the fields of a booking. */
export const bookingSchema = z.looseObject({ object: z.literal("booking") });

/** A page of resources. Calls and voicemails have `has_more`; agents do not. */
export function listSchema<Item extends z.ZodType>(item: Item) {
  return z.looseObject({ object: z.literal("list"), data: z.array(item), has_more: z.boolean().optional() });
}

export type Organization = z.infer<typeof organizationSchema>;
export type Agent = z.infer<typeof agentSchema>;
export type Call = z.infer<typeof callSchema>;
export type Voicemail = z.infer<typeof voicemailSchema>;
export type Order = z.infer<typeof orderSchema>;
export type Booking = z.infer<typeof bookingSchema>;

/** An error answer of the REST API (SPEC §7). */
export const errorSchema = z.looseObject({ error: z.string(), message: z.string() });

/** Every event type of the service, in the order of its table (SPEC §6 Event types). */
export const EVENT_TYPES = [
  "call.completed",
  "call.transferred",
  "voicemail.created",
  "order.created",
  "booking.created",
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** `evt_` and 32 hexadecimal characters. Every attempt of an event has the same id. */
export const eventIdSchema = z
  .string()
  .regex(/^evt_[0-9a-fA-F]{32}$/, "expected evt_ followed by 32 hexadecimal characters");

/** The body of every delivery of any type (SPEC §6 Delivery). */
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

/** Whether the service documents `type`. Other types may appear at any time and are no error. */
export function isEventType(type: string): type is EventType {
  return EVENT_TYPES.some((known) => known === type);
}
