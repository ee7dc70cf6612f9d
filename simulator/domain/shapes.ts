import { z } from "zod";
import { type CauseName, CAUSES } from "./causes.ts";
import { envelopeSchema } from "../../shared/events.ts";
import { CLOCK_MODES } from "./clock.ts";
import { ATTEMPT_ERRORS, BLAMES, DELIVERY_STATES } from "./outcome.ts";
import { type Kept, moment } from "./spelling.ts";

/**
 * The shapes of the simulator's objects, written once: the control API sends them, the commands read them, and the domain and
 * the library use them in other spellings (`spelling.ts`). Times are schedule time unless the name says wall.
 */

export const attemptSchema = z.object({
  number: z.number(),
  scheduled_at: moment,
  started_at: moment,
  /** Null while it is under way. */
  ended_at: moment.nullable(),
  wall_started_at: moment,
  /** Wall time until the outcome was known. */
  duration_ms: z.number().nullable(),
  /** The `t` of its signature, seconds of Unix time. */
  signature_timestamp: z.number(),
  http_status: z.number().nullable(),
  error: z.enum(ATTEMPT_ERRORS).nullable(),
  error_detail: z.string().nullable(),
  /** The fault injected into it. */
  fault: z.string().nullable(),
  /** Who caused its failure; null if it did not fail. */
  blame: z.enum(BLAMES).nullable(),
});

/** Whether the receiver was right: yes, no, undecidable, or too early to tell. */
export const VERDICT_RESULTS = ["ok", "not", "unknown", "waiting"] as const;

export const CAUSE_NAMES = Object.keys(CAUSES).filter((name): name is CauseName => name in CAUSES);

/** A verdict in one sentence; `cause` names what the receiver did wrong, in one word for all that did the same; `why` says why it matters and how to find it, where the receiver did not do right. */
const verdictSchema = z.object({
  /** What a delivery tests: an event as the service sends it, or something that a receiver must cope with. */
  meant: z.enum(["honest", "forged", "answer_lost", "cut_off", "duplicate", "unfamiliar", "slow"]),
  result: z.enum(VERDICT_RESULTS),
  sentence: z.string(),
  cause: z.enum(CAUSE_NAMES).nullable(),
  why: z.string().nullable(),
});

/** What the receiver reports about an event: how often it was handled, and whether that is final. */
const handlingSchema = z.object({
  handled: z.number(),
  duplicates: z.number().nullable(),
  state: z.string().nullable(),
  is_settled: z.boolean(),
});

export const deliverySchema = z.object({
  object: z.literal("delivery"),
  id: z.string(),
  event_id: z.string(),
  event_type: z.string(),
  org_id: z.string(),
  endpoint_id: z.string(),
  state: z.enum(DELIVERY_STATES),
  created_at: moment,
  /** When the next attempt is due; null during an attempt and if there is none. */
  next_attempt_at: moment.nullable(),
  faults: z.array(z.string()),
  /** The delivery that this one repeats. */
  resend_of: z.string().nullable(),
  /** If this one gave up, the later delivery that delivered the same event to the same endpoint. */
  recovered_by: z.string().nullable(),
  summary: z.string(),
  verdict: verdictSchema,
  /** Null if the receiver is not observed. */
  handling: handlingSchema.nullable(),
  attempts: z.array(attemptSchema),
});

/** A signature, parsed and checked; `matches` and `verdict` are null if the secret is no longer known. */
export const signatureSchema = z.object({
  header: z.string(),
  t: z.string().nullable(),
  v1: z.array(z.string()),
  problem: z.string().nullable(),
  signed_string_start: z.string().nullable(),
  signed_bytes: z.number().nullable(),
  matches: z.boolean().nullable(),
  age_at_send_seconds: z.number(),
  tolerance_seconds: z.number(),
  /** How a correct receiver judges it: `accepted`, or why not. */
  verdict: z.string().nullable(),
});

/** A delivery with each attempt's request, byte for byte, and answer; `url` is null once its endpoint is removed. */
export const deliveryDetailSchema = deliverySchema.extend({
  url: z.string().nullable(),
  attempts: z.array(
    attemptSchema.extend({
      request: z.object({
        url: z.string(),
        line: z.string(),
        headers: z.record(z.string(), z.string()),
        body: z.string(),
      }),
      signature: signatureSchema,
      /** Its body up to 16 KiB; null when nothing came back. */
      answer: z
        .object({
          headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
          body: z.string(),
          truncated: z.boolean(),
        })
        .nullable(),
    }),
  ),
});

export const emittedSchema = z.object({
  events: z.array(z.object({ id: z.string(), type: z.string(), org_id: z.string() })),
  deliveries: z.array(z.object({ id: z.string(), event_id: z.string(), endpoint_id: z.string() })),
});

/** An endpoint; of its secrets only the last four characters are shown. */
export const endpointSchema = z.object({
  object: z.literal("endpoint"),
  id: z.string(),
  /** Null: every organization of this simulator, for convenience; a real endpoint has exactly one. */
  org_id: z.string().nullable(),
  url: z.string(),
  /** Its name; if empty, its URL is shown. */
  name: z.string(),
  /** While paused, it gets no new events; earlier deliveries continue. */
  paused: z.boolean(),
  /** The selection; empty means every event (SPEC §6 Registration). */
  event_types: z.array(z.string()),
  faults: z.array(z.string()),
  /** True at three or more failures in a row; a flagged endpoint is never disabled. */
  flagged: z.boolean(),
  consecutive_failures: z.number(),
  secret_last4: z.string(),
  previous_secret_last4: z.string().nullable(),
  previous_secret_until: moment.nullable(),
  created_at: moment,
});

/** The answer to a registration or a rotation, the only ones with the secret. */
export const registeredSchema = endpointSchema.extend({ secret: z.string() });

export const eventSchema = z.object({
  object: z.literal("event"),
  id: z.string(),
  type: z.string(),
  org_id: z.string(),
  /** Who triggered it: the business itself, a user, a replay, or the dashboard's test action. */
  origin: z.enum(["world", "trigger", "replay", "test"]),
  created_at: moment,
  summary: z.string(),
});

/** How an endpoint answered recently: figures, and the last attempts, oldest first. */
export const answersSchema = z.object({
  object: z.literal("answers"),
  counted: z.number(),
  acknowledged: z.number(),
  p95_ms: z.number().nullable(),
  attempts: z.array(attemptSchema.extend({ delivery_id: z.string() })),
});

/** Attempts of a period, slot by slot; answer times are wall time. */
export const historySchema = z.object({
  object: z.literal("history"),
  slot_seconds: z.number(),
  /** Deliveries created within the period, by state, and how many of them are lost. */
  deliveries: z.record(z.enum(DELIVERY_STATES), z.number()),
  lost: z.number(),
  slots: z.array(
    z.object({
      started_at: moment,
      sent: z.number(),
      acknowledged: z.number(),
      failed: z.number(),
      mean_ms: z.number().nullable(),
      longest_ms: z.number().nullable(),
    }),
  ),
});

/** What falls due at about the same time: `count` attempts, or steps of scenarios. The first of them is named. */
export const dueSchema = z.object({
  object: z.literal("due"),
  kind: z.enum(["attempt", "step"]),
  due_at: moment,
  count: z.number(),
  event_type: z.string(),
  /** Which attempt of which delivery; null for a step. */
  delivery_id: z.string().nullable(),
  attempt: z.number().nullable(),
});

/** An event with its envelope and its newest 1,000 deliveries. */
export const eventDetailSchema = eventSchema.extend({
  envelope: envelopeSchema,
  deliveries: z.array(deliverySchema),
});

export const clockSchema = z.object({
  object: z.literal("clock"),
  mode: z.enum(CLOCK_MODES),
  now: moment,
  wall_now: moment,
  next_attempt_at: moment.nullable(),
  deliveries: z.record(z.enum(DELIVERY_STATES), z.number()),
  /** How many gave up and were not sent again since, to existing endpoints. */
  lost: z.number(),
  /** Deliveries to each endpoint by purpose and outcome, and whether receivers are observed. */
  verdicts: z.object({
    is_observed: z.boolean(),
    counts: z.array(
      verdictSchema
        .pick({ meant: true, result: true })
        .extend({ endpoint_id: z.string(), count: z.number() }),
    ),
  }),
});

export const scenarioSchema = z.object({ name: z.string(), summary: z.string() });

/** A story that has begun: how many events its steps make, and when the last one happens. */
export const storySchema = scenarioSchema.extend({ steps: z.number(), events: z.number(), ends_at: moment });

/** What the specification leaves open, and how it is read now. */
export const readingSchema = z.looseObject({ name: z.string(), choice: z.string(), default: z.string() });

export function listOf<Item extends z.ZodType>(item: Item) {
  return z.looseObject({ object: z.literal("list"), data: z.array(item) });
}

export type DeliveryShape = z.input<typeof deliverySchema>;
export type DeliveryDetailShape = z.input<typeof deliveryDetailSchema>;
export type EmittedShape = z.input<typeof emittedSchema>;
export type EndpointShape = z.input<typeof endpointSchema>;
export type Verdict = z.input<typeof verdictSchema>;
export type Meant = Verdict["meant"];
export type VerdictResult = Verdict["result"];
export type Handling = Kept<typeof handlingSchema>;
