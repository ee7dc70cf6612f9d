import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EVENT_TYPES, objectSchemas } from "../../../shared/events.ts";
import type { HappenOptions } from "../../../simulator/domain/world/happenings.ts";
import {
  NOW_MS,
  RESTAURANT,
  SERVICES,
  type TestWorld,
  createTestWorld,
  happen,
  walkCalls,
  walkVoicemails,
} from "./test-world.ts";

function refusal(world: TestWorld, type: (typeof EVENT_TYPES)[number], options: HappenOptions): string {
  const happened = world.happen(type, options);
  if (happened.ok) throw new Error(`${type} happened.`);
  return happened.message;
}

describe("an event in the world", () => {
  test.each(EVENT_TYPES)("%s carries an object of its kind, and happens now", (type) => {
    const { world } = createTestWorld();
    const happened = happen(world, type);
    objectSchemas[type].parse(happened.object);
    expect(happened.createdAtMs).toBe(NOW_MS);
    expect(happened.object["created_at"]).toBe("2026-06-05T18:30:00Z");
    expect(happened.orgId).toBe(type === "booking.created" ? SERVICES : RESTAURANT);
  });

  test.each(EVENT_TYPES)("%s creates the object that REST returns, at the top of the list", (type) => {
    const { world } = createTestWorld();
    const { orgId, object, call } = happen(world, type);
    expect(walkCalls(world, orgId)[0]).toEqual(call);
    expect(world.findCall(String(call["id"]))).toEqual({ orgId, object: call });
    const shown = { call, voicemail: walkVoicemails(world, orgId)[0], order: object, booking: object };
    expect(object).toEqual(shown[objectSchemas[type].shape.object.value]);
  });

  test("REST returns the object of the webhook under any overrides", () => {
    const { world } = createTestWorld({ calls: 0 });
    const names = "duration_sec outcome transcript transfer_to created_at reviewed extra notes".split(" ");
    const fields = fc.dictionary(fc.constantFrom(...names), fc.jsonValue());
    fc.assert(
      fc.property(
        fc.constantFrom("call.completed", "call.transferred", "voicemail.created"),
        fields,
        (type, object) => {
          const happened = happen(world, type, { object });
          const find = type === "voicemail.created" ? world.findVoicemail : world.findCall;
          const carried = JSON.parse(JSON.stringify(happened.object));
          expect(find(String(carried.id))?.object).toEqual(carried);
          expect(carried).toMatchObject(JSON.parse(JSON.stringify(object)));
        },
      ),
      { numRuns: 300 },
    );
  });

  test("an override that cannot become text is stored like any other", () => {
    const { world } = createTestWorld();
    for (const [type, field] of [
      ["call.completed", "outcome"],
      ["voicemail.created", "reviewed"],
    ] as const) {
      const { object } = happen(world, type, { object: { [field]: { toString: 0 } } });
      expect(object[field]).toEqual({ toString: 0 });
    }
  });

  test("a voicemail has a call with the outcome voicemail, from the same person", () => {
    const { world } = createTestWorld();
    const { object, call } = happen(world, "voicemail.created");
    expect(object).toMatchObject({ call_id: call["id"], phone: call["phone"], reviewed: false, notes: null });
    expect(call).toMatchObject({ outcome: "voicemail", transferred: false });
    expect(call["transcript"]).toContain(object["message_text"]);
  });

  test("the call of a transfer says that it was transferred", () => {
    const { world } = createTestWorld();
    expect(happen(world, "call.transferred").object).toMatchObject({
      outcome: "transferred",
      transferred: true,
      transfer_to: "+12125550101",
      transfer_succeeded: true,
    });
    const failed = happen(world, "call.transferred", { object: { transfer_succeeded: false } });
    expect(failed.object).toMatchObject({ transferred: true, transfer_succeeded: false });
  });

  test("orders and bookings match the transcripts of their calls", () => {
    const { world } = createTestWorld();
    const order = happen(world, "order.created");
    expect(order.object).toMatchObject({ call_id: order.call["id"], phone: order.call["phone"] });
    expect(order.call["transcript"]).toContain(order.object["customer_name"]);
    expect(order.call["transcript"]).toContain(order.object["total"]);
    const booking = happen(world, "booking.created");
    expect(booking.object).toMatchObject({ call_id: booking.call["id"], phone: booking.call["phone"] });
    const [earlier] = walkCalls(world, SERVICES).slice(-1);
    const { id, agent_id: agent, phone } = earlier ?? {};
    expect(happen(world, "booking.created", { object: { call_id: id } }).object).toMatchObject({
      agent_id: agent,
      phone,
    });
    for (let booked = 0; booked < 10; booked += 1) {
      const startsAt = String(happen(world, "booking.created").object["starts_at"]);
      // Later, in working hours, eight hours behind UTC.
      const hour = (new Date(startsAt).getUTCHours() + 16) % 24;
      expect(startsAt > "2026-06-05T18:30:00Z" && hour >= 8 && hour <= 16, startsAt).toBe(true);
    }
  });

  test("an overridden number selects its person, with name and language", () => {
    const { world } = createTestWorld({ calls: 2_000 });
    const known = walkVoicemails(world, RESTAURANT).find(({ message_text: text }) =>
      /Hola|Soy/.test(String(text)),
    )!;
    const { object, call } = happen(world, "order.created", { object: { phone: known["phone"] } });
    expect(object).toMatchObject({ phone: known["phone"], customer_name: known["customer_name"] });
    expect(call).toMatchObject({ phone: known["phone"], detected_language: "es" });
  });

  test("an overridden name or language is used in all related objects", () => {
    const { world } = createTestWorld();
    const named = happen(world, "voicemail.created", { object: { customer_name: "Zoe Example" } });
    expect(named.object["message_text"]).toContain("Zoe Example");
    expect(named.call["transcript"]).toContain("Zoe Example");
    const german = happen(world, "call.completed", { object: { detected_language: "de" } });
    expect(german.object["transcript"]).toMatch(/Guten Tag|Ich rufe an|mein Name ist/);
    const caller = { name: "Ada Example", phone: "+442079460000", language: "fr" } as const;
    const left = happen(world, "voicemail.created", { caller });
    expect(left.object).toMatchObject({ customer_name: caller.name, phone: caller.phone });
    expect(left.call).toMatchObject({ detected_language: "fr", phone: caller.phone });
  });

  test("the outcome of a completed call can be chosen, and the call matches it", () => {
    const { world } = createTestWorld();
    const outcomeOf = (object: Record<string, unknown>) => happen(world, "call.completed", { object }).object;
    expect(outcomeOf({})).toMatchObject({ outcome: "completed", transferred: false });
    expect(outcomeOf({ outcome: "transferred" })).toMatchObject({
      transferred: true,
      transfer_succeeded: true,
    });
    expect(outcomeOf({ outcome: "voicemail" })).toMatchObject({ transferred: false, transfer_to: null });
    expect(outcomeOf({ outcome: "no_answer" })).toMatchObject({ outcome: "no_answer", transferred: false });
  });

  test("an event can be about an existing object", () => {
    const { world } = createTestWorld();
    const [old] = walkVoicemails(world, SERVICES);
    const { object, call } = happen(world, "voicemail.created", {
      orgId: SERVICES,
      object: { id: old?.["id"], reviewed: true, notes: "Seen." },
    });
    expect(object).toEqual({ ...old, reviewed: true, notes: "Seen." });
    expect(call["id"]).toBe(old?.["call_id"]);
    expect(walkVoicemails(world, SERVICES)[0]).toEqual(object);
    expect(walkVoicemails(world, SERVICES, true)[0]).toEqual(object);
    expect(walkVoicemails(world, SERVICES, false).map(({ id }) => id)).not.toContain(old?.["id"]);
  });

  test("an earlier call can still be transferred", () => {
    const { world } = createTestWorld();
    const [call] = walkCalls(world, RESTAURANT, { outcome: "completed" });
    const { object } = happen(world, "call.transferred", { object: { id: call?.["id"] } });
    expect(object).toEqual({
      ...call,
      outcome: "transferred",
      transferred: true,
      transfer_to: "+12125550101",
      transfer_succeeded: true,
    });
    expect(walkCalls(world, RESTAURANT, { outcome: "completed" }).map(({ id }) => id)).not.toContain(
      call?.["id"],
    );
  });

  test("a completed call ends in its voicemail", () => {
    const { world } = createTestWorld({ calls: 0 });
    const call = happen(world, "call.completed", { orgId: RESTAURANT }).object;
    expect(call).toMatchObject({ outcome: "completed" });
    happen(world, "voicemail.created", { orgId: RESTAURANT, object: { call_id: call["id"] } });
    expect(world.findCall(String(call["id"]))?.object).toMatchObject({ outcome: "voicemail" });
  });

  test("a voicemail can belong to an earlier call, or create a call with a chosen id", () => {
    const { world } = createTestWorld();
    const [call] = walkCalls(world, RESTAURANT);
    const left = happen(world, "voicemail.created", { object: { call_id: call?.["id"] } });
    expect(left.call).toEqual(call);
    expect(left.object["phone"]).toBe(call?.["phone"]);
    const fresh = happen(world, "voicemail.created", { object: { call_id: "call_mine" } });
    expect(world.findCall("call_mine")?.object).toEqual(fresh.call);
  });

  test("an overridden date puts the call at its place in the list", () => {
    const { world } = createTestWorld();
    const { object } = happen(world, "call.completed", { object: { created_at: "2026-05-01T12:00:00Z" } });
    const times = walkCalls(world, RESTAURANT).map(({ created_at: at }) => String(at));
    expect(times).toEqual(times.toSorted().toReversed());
    expect(walkCalls(world, RESTAURANT)[0]).not.toEqual(object);
  });

  test("orders belong to the restaurant and bookings to the service business", () => {
    const { world } = createTestWorld();
    expect(refusal(world, "order.created", { orgId: SERVICES })).toBe(
      "order.created happens at a restaurant, and Harbor Heating & Plumbing (org_c4071e6b92fd4a58) is a service business. " +
        "Use org_5f2c81d0a7b94e63 (Trattoria Aurora).",
    );
    expect(refusal(world, "booking.created", { orgId: RESTAURANT })).toContain("Use org_c4071e6b92fd4a58");
    expect(happen(world, "voicemail.created", { orgId: SERVICES }).orgId).toBe(SERVICES);
  });

  test("an impossible event is refused with the fix, and changes nothing", () => {
    const { world } = createTestWorld();
    const before = walkCalls(world, RESTAURANT);
    const foreign = String(walkCalls(world, SERVICES)[0]?.["id"]);
    expect(refusal(world, "call.completed", { orgId: "org_5f2c81d0a7b94e64" })).toContain(
      'There is no organization org_5f2c81d0a7b94e64. Did you mean "org_5f2c81d0a7b94e63"?',
    );
    expect(refusal(world, "call.completed", { object: { id: foreign } })).toContain(
      `${foreign} is a call of Harbor Heating & Plumbing (${SERVICES}): use that organization or another id.`,
    );
    expect(refusal(world, "voicemail.created", { object: { id: before[0]?.["id"] } })).toContain(
      "use the id of a voicemail, or a new one",
    );
    expect(refusal(world, "call.completed", { object: { id: 7 } })).toContain(
      "a text that is not empty, not 7",
    );
    expect(walkCalls(world, RESTAURANT)).toEqual(before);
  });

  test("the same seed makes the same events", () => {
    const tell = () => {
      const { world } = createTestWorld({ seed: 9, calls: 10 });
      return EVENT_TYPES.map((type) => world.happen(type));
    };
    expect(tell()).toEqual(tell());
  });
});
