import { z } from "zod";
import { envelopeSchema } from "../../shared/events.ts";

/** What the commands read of the control API's answers; everything else is passed on with `--json`. */

export const attemptSchema = z.looseObject({
  number: z.number(),
  started_at: z.string(),
  ended_at: z.string().nullable(),
  duration_ms: z.number().nullable(),
  http_status: z.number().nullable(),
  error: z.string().nullable(),
  error_detail: z.string().nullable(),
});

export const deliverySchema = z.looseObject({
  id: z.string(),
  event_id: z.string(),
  event_type: z.string().nullable(),
  endpoint_id: z.string(),
  state: z.string(),
  next_attempt_at: z.string().nullable(),
  verdict: z.looseObject({ sentence: z.string(), why: z.string().nullable() }),
  attempts: z.array(attemptSchema),
});

/** One delivery with what came back on each attempt. */
export const deliveryDetailSchema = deliverySchema.extend({
  url: z.string().nullable(),
  attempts: z.array(
    attemptSchema.extend({ answer: z.looseObject({ body: z.string(), truncated: z.boolean() }).nullable() }),
  ),
});

/** What was sent again, or would be. */
export const recoverySchema = z.looseObject({
  total: z.number(),
  has_more: z.boolean(),
  counts: z.array(z.looseObject({ endpoint_id: z.string(), event_type: z.string(), count: z.number() })),
});

export const emittedSchema = z.looseObject({
  events: z.array(z.looseObject({ id: z.string(), type: z.string(), org_id: z.string() })),
  deliveries: z.array(z.looseObject({ id: z.string(), endpoint_id: z.string() })),
});

export const endpointSchema = z.looseObject({
  id: z.string(),
  url: z.string(),
  event_types: z.array(z.string()),
  org_id: z.string().nullable(),
  faults: z.array(z.string()),
  flagged: z.boolean(),
  consecutive_failures: z.number(),
  secret_last4: z.string(),
  previous_secret_last4: z.string().nullable(),
  previous_secret_until: z.string().nullable(),
});

/** The answer to a registration, the one that tells the secret. */
export const registeredSchema = endpointSchema.extend({ secret: z.string() });

export const eventSchema = z.looseObject({
  id: z.string(),
  type: z.string(),
  org_id: z.string(),
  origin: z.string(),
  created_at: z.string(),
});

export const eventDetailSchema = eventSchema.extend({
  envelope: envelopeSchema,
  deliveries: z.array(deliverySchema),
});

export const scenarioSchema = z.looseObject({ name: z.string(), summary: z.string() });

export const storySchema = scenarioSchema.extend({ steps: z.number(), ends_at: z.string() });

export const readingSchema = z.looseObject({ name: z.string(), choice: z.string(), default: z.string() });

export const clockSchema = z.looseObject({
  mode: z.string(),
  now: z.string(),
  wall_now: z.string(),
  next_attempt_at: z.string().nullable(),
  deliveries: z.record(z.string(), z.number()),
});

/** A list of the control API. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.looseObject({ object: z.literal("list"), data: z.array(item) });
}

export type DeliveryDetailValue = z.infer<typeof deliveryDetailSchema>;
export type EmittedValue = z.infer<typeof emittedSchema>;
export type DeliveryValue = z.infer<typeof deliverySchema>;
