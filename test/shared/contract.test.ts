import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { ERROR_STATUS, errorSchema } from "../../shared/errors.ts";
import {
  EVENT_TYPES,
  envelopeSchema,
  eventIdSchema,
  eventSchema,
  isEventType,
  objectSchemas,
} from "../../shared/events.ts";
import * as limits from "../../shared/limits.ts";
import {
  agentSchema,
  bookingSchema,
  callSchema,
  listSchema,
  orderSchema,
  organizationSchema,
  timestampSchema,
  voicemailSchema,
} from "../../shared/resources.ts";
import {
  sampleAgent,
  sampleCall,
  sampleEnvelope,
  sampleObjects,
  sampleOrganization,
  sampleTransferredCall,
  sampleVoicemail,
} from "../../shared/samples.ts";

type Kind = "string" | "integer" | "boolean" | "strings" | "object" | "string?" | "anything";

/** The fields of every object as SPEC §2 and §6 state them, strings where no kind is named; copied from there. */
const STATED: [string, z.ZodType, Record<string, unknown>, string][] = [
  [
    "organization",
    organizationSchema,
    sampleOrganization,
    "object id name industry subscription_tier subscription_status created_at api_scopes:strings",
  ],
  [
    "agent",
    agentSchema,
    sampleAgent,
    "object id name persona_id voice_id phone_number status greeting_style created_at updated_at",
  ],
  [
    "call",
    callSchema,
    sampleCall,
    "object id agent_id phone duration_sec:integer outcome transcript recording_url transferred:boolean " +
      "transfer_to:anything transfer_succeeded:anything detected_language created_at",
  ],
  [
    "voicemail",
    voicemailSchema,
    sampleVoicemail,
    "object id call_id phone customer_name message_text reason reviewed:boolean callback_made:boolean notes:string? created_at",
  ],
  [
    "envelope",
    envelopeSchema,
    sampleEnvelope("call.completed"),
    "id type created:integer api_version data:object org_id",
  ],
  ["order", orderSchema, sampleObjects["order.created"], "object"],
  ["booking", bookingSchema, sampleObjects["booking.created"], "object"],
];

const fieldsOf = (stated: string) =>
  stated.split(" ").map((field) => {
    const [name = "", kind = "string"] = field.split(":");
    return { field: name, kind: kind as Kind };
  });

const WRONG: Record<Kind, unknown[]> = {
  anything: [],
  string: [undefined, null, 1, true, [], {}],
  "string?": [undefined, 1, true, [], {}],
  integer: [undefined, null, "1", 1.5, true, Number.NaN],
  boolean: [undefined, null, 0, "true"],
  strings: [undefined, null, "read", [1]],
  object: [undefined, null, "x", []],
};

const FIELDS = STATED.flatMap(([name, schema, sample, stated]) =>
  fieldsOf(stated).map(({ field, kind }) => ({ name, schema, sample, field, kind })),
);

describe.each(STATED)("%s", (_name, schema, sample, stated) => {
  test("takes its sample, and changes nothing about it", () => {
    expect(schema.parse(sample)).toEqual(sample);
  });

  test("keeps fields that come later (SPEC §9)", () => {
    const later = { ...sample, added_later: { nested: [1, null] }, another: "x" };
    expect(schema.parse(later)).toEqual(later);
  });

  test("has the fields that the specification states, and no other", () => {
    const shape = (schema as z.ZodObject).shape;
    expect(Object.keys(shape).toSorted()).toEqual(
      fieldsOf(stated)
        .map(({ field }) => field)
        .toSorted(),
    );
  });
});

describe("a field of the wrong kind is refused", () => {
  test.each(FIELDS)("$name.$field is a $kind", ({ schema, sample, field, kind }) => {
    for (const value of WRONG[kind]) {
      const changed: Record<string, unknown> = { ...sample, [field]: value };
      if (value === undefined) delete changed[field];
      expect({ value, accepted: schema.safeParse(changed).success }).toEqual({ value, accepted: false });
    }
  });

  test.each<[string, unknown[]]>([
    [
      "created_at",
      ["2026-01-31", "2026-01-31T18:05:09", "2026-01-31T18:05:09.000Z", "2026-01-31T18:05:09+00:00"],
    ],
    ["phone", ["12125550142", "+1 212 555 0142", "+"]],
    ["id", ["vm_1", "9d4e7f10"]],
    ["agent_id", ["call_1"]],
    ["object", ["Call", "voicemail"]],
    ["duration_sec", [-1]],
  ])("call.%s is of its form", (field, values) => {
    for (const value of values) {
      expect(callSchema.safeParse({ ...sampleCall, [field]: value }).success).toBe(false);
    }
  });

  test.each([
    ["duration_sec", 0],
    ["transcript", ""],
    ["recording_url", ""],
  ])("call.%s may be %o", (field, value) => {
    expect(callSchema.safeParse({ ...sampleCall, [field]: value }).success).toBe(true);
  });

  test("what has no stated form may have any", () => {
    for (const value of [null, "+12125550101", true, { any: "form" }]) {
      const call = { ...sampleCall, transfer_to: value, transfer_succeeded: value };
      expect(callSchema.safeParse(call).success).toBe(true);
    }
  });

  test("values that the service does not list as complete are open", () => {
    expect(callSchema.safeParse({ ...sampleCall, outcome: "abandoned" }).success).toBe(true);
    expect(voicemailSchema.safeParse({ ...sampleVoicemail, reason: "full moon" }).success).toBe(true);
    expect(voicemailSchema.safeParse({ ...sampleVoicemail, notes: "called back" }).success).toBe(true);
    expect(callSchema.safeParse(sampleTransferredCall).success).toBe(true);
  });
});

describe("lists", () => {
  test("have has_more or not, and items of one kind", () => {
    const list = listSchema(callSchema);
    expect(list.safeParse({ object: "list", data: [sampleCall], has_more: true }).success).toBe(true);
    expect(list.safeParse({ object: "list", data: [] }).success).toBe(true);
    expect(list.safeParse({ object: "list", data: [sampleVoicemail] }).success).toBe(false);
    expect(list.safeParse({ object: "list", data: [], has_more: "true" }).success).toBe(false);
    expect(list.safeParse({ object: "lists", data: [] }).success).toBe(false);
  });
});

describe("events", () => {
  test("are of the five types of SPEC §6, each with its object", () => {
    expect(EVENT_TYPES).toEqual([
      "call.completed",
      "call.transferred",
      "voicemail.created",
      "order.created",
      "booking.created",
    ]);
    const kinds = EVENT_TYPES.map((type) => sampleObjects[type].object);
    expect(kinds).toEqual(["call", "call", "voicemail", "order", "booking"]);
    for (const type of EVENT_TYPES) {
      expect(eventSchema(type).safeParse(sampleEnvelope(type)).success).toBe(true);
      for (const other of EVENT_TYPES) {
        const hasItsObject = objectSchemas[type].safeParse(sampleObjects[other]).success;
        expect(hasItsObject).toBe(sampleObjects[type].object === sampleObjects[other].object);
      }
    }
  });

  test("of another type are no error of the envelope", () => {
    expect(
      envelopeSchema.safeParse({ ...sampleEnvelope("call.completed"), type: "call.archived" }).success,
    ).toBe(true);
    expect(isEventType("call.archived")).toBe(false);
    expect(isEventType("toString")).toBe(false);
    expect(isEventType("call.completed")).toBe(true);
  });

  test.each([
    ["evt_0123456789abcdef0123456789abcdef", true],
    ["evt_0123456789ABCDEF0123456789abcdef", true],
    ["evt_0123456789abcdef0123456789abcde", false],
    ["evt_0123456789abcdef0123456789abcdef0", false],
    ["evt_0123456789abcdef0123456789abcdeg", false],
    ["EVT_0123456789abcdef0123456789abcdef", false],
    ["0123456789abcdef0123456789abcdef", false],
    ["evt_0123456789abcdef0123456789abcdef\n", false],
    ["", false],
  ])("with the id %j: %s", (id, accepted) => {
    expect(eventIdSchema.safeParse(id).success).toBe(accepted);
  });
});

describe("limits and errors", () => {
  test("are those of SPEC §8", () => {
    expect({ ...limits }).toEqual({
      LIST_LIMIT_DEFAULT: 25,
      LIST_LIMIT_MAXIMUM: 100,
      RESPONSE_TIMEOUT_MS: 10_000,
      SIGNATURE_TOLERANCE_SECONDS: 300,
      FAILURE_FLAG_THRESHOLD: 3,
    });
  });

  test("are those of SPEC §7, and the one that is a reading", () => {
    expect(ERROR_STATUS).toEqual({
      invalid_cursor: 400,
      invalid_request: 400,
      unauthorized: 401,
      not_found: 404,
      server_error: 500,
    });
    expect(errorSchema.safeParse({ error: "not_found", message: "x", more: 1 }).success).toBe(true);
    expect(errorSchema.safeParse({ error: "not_found" }).success).toBe(false);
  });
});

test.for([
  "2026-01-31T18:05:09Z+01:00",
  "at 2026-01-31T18:05:09Z",
  "2026-01-31T18:05:09",
  "2026-01-31T18:05:09.5Z",
])("%s is no timestamp", (text) => expect(timestampSchema.safeParse(text).success).toBe(false));
