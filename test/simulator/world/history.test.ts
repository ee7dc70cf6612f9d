import { describe, expect, test } from "vitest";
import { agentSchema, callSchema, organizationSchema, voicemailSchema } from "../../../shared/events.ts";
import { RESTAURANT, SERVICES, createTestWorld, walkCalls, walkVoicemails } from "./test-world.ts";

function everything(world: ReturnType<typeof createTestWorld>["world"]) {
  return world.organizations().map(({ organization, apiKey }) => ({
    organization,
    apiKey,
    agents: world.agents(organization.id),
    calls: walkCalls(world, organization.id),
    voicemails: walkVoicemails(world, organization.id),
  }));
}

describe("the generated history", () => {
  test("is the same for the same seed, byte for byte", () => {
    const [one, two] = [createTestWorld({ seed: 42 }), createTestWorld({ seed: 42 })];
    expect(JSON.stringify(everything(one.world))).toBe(JSON.stringify(everything(two.world)));
  });

  test("differs for another seed", () => {
    const [one, two] = [createTestWorld({ seed: 42 }), createTestWorld({ seed: 43 })];
    expect(JSON.stringify(everything(one.world))).not.toBe(JSON.stringify(everything(two.world)));
  });

  test("has a restaurant and a service business whose ids and keys never change", () => {
    for (const seed of [1, 2, 3]) {
      const organizations = createTestWorld({ seed, calls: 0 }).world.organizations();
      expect(organizations.map(({ organization, apiKey }) => [organization.id, apiKey])).toEqual([
        [RESTAURANT, "va_test_restaurant"],
        [SERVICES, "va_test_services"],
      ]);
    }
  });

  test("keeps to the shapes of the specification", () => {
    for (const { organization, agents, calls, voicemails } of everything(
      createTestWorld({ calls: 1_000 }).world,
    )) {
      expect(organizationSchema.parse(organization)).toEqual(organization);
      expect(agents.map((agent) => agentSchema.parse(agent))).toEqual(agents);
      expect(calls.map((call) => callSchema.parse(call))).toEqual(calls);
      expect(voicemails.map((voicemail) => voicemailSchema.parse(voicemail))).toEqual(voicemails);
    }
  });

  test("gives every voicemail its call, and every voicemail call its voicemail", () => {
    const { world } = createTestWorld({ calls: 1_000 });
    for (const orgId of [RESTAURANT, SERVICES]) {
      const voicemails = walkVoicemails(world, orgId);
      const calls = walkCalls(world, orgId, { outcome: "voicemail" });
      expect(voicemails.length).toBeGreaterThan(10);
      expect(voicemails.map(({ call_id: id }) => id)).toEqual(calls.map(({ id }) => id));
      for (const [index, { phone, message_text: text, created_at: at }] of voicemails.entries()) {
        expect(calls[index]).toMatchObject({ phone, created_at: at });
        expect(calls[index]?.["transcript"]).toContain(text);
      }
    }
  });

  test("shows a transfer only if there was one", () => {
    const { world } = createTestWorld({ calls: 1_000 });
    const byOutcome = (wanted: boolean) =>
      walkCalls(world, RESTAURANT).filter(({ outcome }) => (outcome === "transferred") === wanted);
    for (const call of byOutcome(true)) {
      const form = {
        transferred: true,
        transfer_to: "+12125550101",
        transfer_succeeded: expect.any(Boolean),
      };
      expect(call).toMatchObject(form);
    }
    for (const call of byOutcome(false)) {
      expect(call).toMatchObject({ transferred: false, transfer_to: null, transfer_succeeded: null });
    }
  });

  test("names speakers in every line, in several languages", () => {
    const calls = walkCalls(createTestWorld({ calls: 2_000 }).world, RESTAURANT);
    for (const { transcript } of calls) {
      for (const line of String(transcript).split("\n")) expect(line).toMatch(/^(Agent|Caller): \S/);
      expect(transcript).not.toMatch(/[{}]/);
    }
    expect(new Set(calls.map((call) => call["detected_language"])).size).toBe(5);
  });

  test("has the same person behind the same number", () => {
    const names = new Map<unknown, unknown>();
    const voicemails = walkVoicemails(createTestWorld({ calls: 4_000 }).world, RESTAURANT);
    for (const { phone, customer_name: name } of voicemails) {
      expect(names.get(phone) ?? name).toBe(name);
      names.set(phone, name);
    }
    expect(names.size).toBeLessThan(voicemails.length);
  });

  test("uses only fictional numbers", () => {
    const { world } = createTestWorld({ calls: 1_000 });
    for (const { agents, calls } of everything(world)) {
      for (const { phone_number: phone } of agents) expect(phone).toMatch(/^\+1\d{3}55501\d{2}$/);
      for (const { phone, transfer_to: to } of calls) {
        expect(phone).toMatch(/^\+1\d{3}55501\d{2}$/);
        expect(to ?? phone).toMatch(/^\+1\d{3}55501\d{2}$/);
      }
    }
  });

  test("spreads the calls over months, in the hours in which such a business is called", () => {
    const calls = walkCalls(createTestWorld({ calls: 4_000 }).world, RESTAURANT);
    const times = calls.map(({ created_at: at }) => new Date(String(at)));
    const days = (Number(times[0]) - Number(times.at(-1))) / 86_400_000;
    expect(days).toBeGreaterThan(80);
    // New York is assumed to be five hours behind UTC.
    const hours = times.map((time) => (time.getUTCHours() + 19) % 24);
    const share = (from: number, to: number) =>
      hours.filter((hour) => hour >= from && hour < to).length / hours.length;
    expect(share(17, 21)).toBeGreaterThan(0.35);
    expect(share(1, 7)).toBeLessThan(0.03);
  });

  test("ends before the epoch, newest first", () => {
    const { world } = createTestWorld({ epochMs: Date.UTC(2025, 0, 1) });
    const times = walkCalls(world, SERVICES).map(({ created_at: at }) => String(at));
    expect(times[0]! < "2025-01-01T00:00:00Z").toBe(true);
    expect(times).toEqual(times.toSorted().toReversed());
  });

  test("divides any number of calls evenly", () => {
    for (const [calls, shares] of [
      [0, [0, 0]],
      [1, [1, 0]],
      [241, [121, 120]],
    ] as const) {
      const { world } = createTestWorld({ calls });
      expect(everything(world).map((organization) => organization.calls.length)).toEqual(shares);
    }
  });

  test("stays the same in a database, along with later events", () => {
    const { world, database } = createTestWorld({ seed: 5, calls: 20 });
    const happened = world.happen("call.completed");
    const before = everything(world);
    const again = createTestWorld({ database, seed: 6, calls: 1_000 }).world;
    expect(everything(again)).toEqual(before);
    expect(again.origin).toEqual(world.origin);
    const next = again.happen("call.completed");
    expect(happened.ok && next.ok && happened.object["id"] !== next.object["id"]).toBe(true);
  });

  test("comes back after a reset, while ids go on", () => {
    const { world } = createTestWorld({ calls: 20 });
    const before = everything(world);
    const first = world.happen("voicemail.created");
    expect(everything(world)).not.toEqual(before);
    world.reset();
    expect(everything(world)).toEqual(before);
    const second = world.happen("voicemail.created");
    expect(first.ok && second.ok && first.object["id"] !== second.object["id"]).toBe(true);
  });
});
