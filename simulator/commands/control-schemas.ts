import { z } from "zod";

/** What the commands read of the control API's answers; everything else is passed on with `--json`. */

export const attemptSchema = z.looseObject({
  number: z.number(),
  scheduled_at: z.string(),
  started_at: z.string(),
  duration_ms: z.number().nullable(),
  http_status: z.number().nullable(),
  error: z.string().nullable(),
});

export const deliverySchema = z.looseObject({
  id: z.string(),
  event_id: z.string(),
  event_type: z.string().nullable(),
  endpoint_id: z.string(),
  state: z.string(),
  next_attempt_at: z.string().nullable(),
  attempts: z.array(attemptSchema),
});

export const emissionsSchema = z.looseObject({
  events: z.array(z.looseObject({ id: z.string(), type: z.string(), org_id: z.string() })),
  deliveries: z.array(z.looseObject({ id: z.string(), endpoint_id: z.string() })),
});

export const clockSchema = z.looseObject({
  mode: z.string(),
  now: z.string(),
  next_attempt_at: z.string().nullable(),
  deliveries: z.record(z.string(), z.number()),
});

/** A list of the control API. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.looseObject({ object: z.literal("list"), data: z.array(item) });
}

export type DeliveryValue = z.infer<typeof deliverySchema>;
