import { describe, expect, test } from "vitest";
import type { z } from "zod";
import {
  envelopeSchema,
  EVENT_TYPES,
  eventIdSchema,
  eventSchema,
  isEventType,
  objectSchemas,
} from "../../shared/events.ts";
import * as limits from "../../simulator/domain/limits.ts";
import { ERROR_STATUS } from "../../simulator/domain/refused.ts";
import * as resources from "../../shared/events.ts";
import * as samples from "../../shared/samples.ts";

const { callSchema, errorSchema, listSchema, voicemailSchema } = resources;
const { sampleCall, sampleEnvelope, sampleObjects, sampleVoicemail } = samples;

/** The fields of every object, copied from SPEC §2 and §6; a field without a kind is a string. */
const STATED: [string, z.ZodType, Record<string, unknown>, string][] = [
  [
    "organization",
    resources.organizationSchema,
    samples.sampleOrganization,
    "object id name industry subscription_tier subscription_status created_at api_scopes:strings",
  ],
  [
    "agent",
    resources.agentSchema,
    samples.sampleAgent,
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
  ["order", resources.orderSchema, sampleObjects["order.created"], "object"],
  ["booking", resources.bookingSchema, sampleObjects["booking.created"], "object"],
];

const WRONG: Record<string, unknown[]> = {
  anything: [],
  string: [undefined, null, 1, true, [], {}],
  "string?": [undefined, 1, true, [], {}],
  integer: [undefined, null, "1", 1.5, true, Number.NaN],
  boolean: [undefined, null, 0, "true"],
  strings: [undefined, null, "read", [1]],
  object: [undefined, null, "x", []],
};

const accepts = (schema: z.ZodType, value: unknown): boolean => schema.safeParse(value).success;

describe.each(STATED)("%s", (_name, schema, sample, stated) => {
  const fields = stated.split(" ").map((field) => {
    const [name = "", kind = "string"] = field.split(":");
    return { name, kind };
  });

  test("has the fields that the specification states, and no other; later ones are kept (SPEC §9)", () => {
    const { shape } = schema as z.ZodObject;
    expect(Object.keys(shape).toSorted()).toEqual(fields.map(({ name }) => name).toSorted());
    const later = { ...sample, added_later: { nested: [1, null] }, another: "x" };
    expect(schema.parse(later)).toEqual(later);
  });

  test.each(fields)("$name is refused unless it is $kind", ({ name: field, kind }) => {
    for (const value of WRONG[kind] ?? []) {
      const changed: Record<string, unknown> = { ...sample, [field]: value };
      if (value === undefined) delete changed[field];
      expect({ value, accepted: accepts(schema, changed) }).toEqual({ value, accepted: false });
    }
  });
});

test.each<[string, unknown[], unknown[]]>([
  [
    "created_at",
    ["2026-01-31T18:05:09Z"],
    ["2026-01-31", "2026-01-31T18:05:09", "2026-01-31T18:05:09.000Z", "at 2026-01-31T18:05:09Z"],
  ],
  ["phone", ["+12125550142"], ["12125550142", "+1 212 555 0142", "+"]],
  ["id", ["call_1"], ["vm_1", "9d4e7f10"]],
  ["agent_id", ["ag_1"], ["call_1"]],
  ["object", ["call"], ["Call", "voicemail"]],
  ["duration_sec", [0], [-1]],
  ["transfer_to", [null, "+12125550101", { any: "form" }], []],
  ["transfer_succeeded", [null, true, "yes"], []],
  ["outcome", ["completed", "abandoned"], []],
])("call.%s takes what has its form", (field, right, wrong) => {
  for (const value of right) expect(accepts(callSchema, { ...sampleCall, [field]: value })).toBe(true);
  for (const value of wrong) expect(accepts(callSchema, { ...sampleCall, [field]: value })).toBe(false);
});

test("a list may have has_more, and has items of one kind", () => {
  const list = listSchema(callSchema);
  expect(accepts(list, { object: "list", data: [sampleCall], has_more: true })).toBe(true);
  expect(accepts(list, { object: "list", data: [] })).toBe(true);
  expect(accepts(list, { object: "list", data: [sampleVoicemail] })).toBe(false);
  expect(accepts(list, { object: "list", data: [], has_more: "true" })).toBe(false);
  expect(accepts(list, { object: "lists", data: [] })).toBe(false);
});

test("events have the five types of SPEC §6, each with its object; another type is still an envelope", () => {
  const types = [
    "call.completed",
    "call.transferred",
    "voicemail.created",
    "order.created",
    "booking.created",
  ];
  expect(EVENT_TYPES).toEqual(types);
  const kinds = EVENT_TYPES.map((type) => sampleObjects[type].object);
  expect(kinds).toEqual(["call", "call", "voicemail", "order", "booking"]);
  for (const type of EVENT_TYPES) {
    expect(accepts(eventSchema(type), sampleEnvelope(type))).toBe(true);
    for (const other of EVENT_TYPES) {
      const isSame = sampleObjects[type].object === sampleObjects[other].object;
      expect(accepts(objectSchemas[type], sampleObjects[other])).toBe(isSame);
    }
  }
  expect(accepts(envelopeSchema, { ...sampleEnvelope("call.completed"), type: "call.archived" })).toBe(true);
  expect(["call.archived", "toString", "call.completed"].map(isEventType)).toEqual([false, false, true]);
});

test.each([
  ["evt_0123456789ABCDEF0123456789abcdef", true],
  ["evt_0123456789abcdef0123456789abcde", false],
  ["evt_0123456789abcdef0123456789abcdef0", false],
  ["evt_0123456789abcdef0123456789abcdeg", false],
  ["EVT_0123456789abcdef0123456789abcdef", false],
  ["evt_0123456789abcdef0123456789abcdef\n", false],
])("an event with the id %j: %s", (id, accepted) => {
  expect(accepts(eventIdSchema, id)).toBe(accepted);
});

test("limits and errors are those of SPEC §7 and §8, plus one code that is a reading", () => {
  expect({ ...limits }).toEqual({
    LIST_LIMIT_DEFAULT: 25,
    LIST_LIMIT_MAXIMUM: 100,
    RESPONSE_TIMEOUT_MS: 10_000,
    FAILURE_FLAG_THRESHOLD: 3,
  });
  const clients = { invalid_cursor: 400, invalid_request: 400, unauthorized: 401, not_found: 404 };
  expect(ERROR_STATUS).toEqual({ ...clients, server_error: 500 });
  expect(accepts(errorSchema, { error: "not_found", message: "x", more: 1 })).toBe(true);
  expect(accepts(errorSchema, { error: "not_found" })).toBe(false);
});
