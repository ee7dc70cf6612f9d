import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { EVENT_TYPES } from "../../../shared/events.ts";
import { parseScenario, scenarioJsonSchema, SCENARIOS } from "../../../simulator/domain/world/scenario.ts";
import { trafficStep } from "../../../simulator/domain/traffic.ts";
import { RESTAURANT, SERVICES, createTestWorld } from "./test-world.ts";

function tell(json: unknown, options: { seed?: number } = {}) {
  const parsed = parseScenario(json);
  if (!parsed.ok) throw new Error(parsed.message);
  const { world } = createTestWorld(options);
  const story = world.planSteps(parsed.scenario);
  if (!story.ok) throw new Error(story.message);
  return { world, steps: story.steps };
}

const minimal = { name: "mine", summary: "Mine.", steps: [{ after_seconds: 0, type: "call.completed" }] };

describe("the JSON schema for editors", () => {
  const file = JSON.parse(readFileSync("simulator/schemas/scenario.schema.json", "utf8"));
  const schema = z.fromJSONSchema(file);

  test("matches the parser of scenarios (node tools/openapi.ts writes it anew)", () => {
    expect(file).toEqual(JSON.parse(JSON.stringify(scenarioJsonSchema())));
  });

  test("accepts the built-in scenarios, and refuses misspelt fields", () => {
    const [shipped] = SCENARIOS;
    const named = { ...minimal, $schema: "./scenario.schema.json" };
    for (const story of [shipped, minimal, named]) expect(schema.safeParse(story).success).toBe(true);
    expect(parseScenario(named)).toMatchObject({ ok: true });
    const wrong = [
      { ...minimal, step: [] },
      { ...minimal, steps: [] },
      { ...minimal, name: "Not A Name" },
      { ...minimal, steps: [{ after_seconds: -1, type: "call.completed" }] },
      { ...minimal, steps: [{ after_seconds: 0, type: "call.missed" }] },
    ];
    expect(wrong.filter((story) => schema.safeParse(story).success)).toEqual([]);
  });
});

describe("the built-in scenarios", () => {
  test("are these five", () => {
    expect(SCENARIOS.map(({ name }) => name)).toEqual([
      "after-hours-voicemail",
      "busy-friday",
      "failed-transfer",
      "order-then-complaint",
      "outage",
    ]);
  });

  test.each(SCENARIOS)("$name runs from beginning to end", (scenario) => {
    const { world, steps } = tell(scenario);
    expect(steps.length).toBeGreaterThan(1);
    expect(steps.map(({ afterMs }) => afterMs)).toEqual(
      steps.map(({ afterMs }) => afterMs).toSorted((a, b) => a - b),
    );
    expect(JSON.parse(JSON.stringify(steps))).toEqual(steps);
    for (const { type, ...options } of steps) {
      const happened = world.happen(type, options);
      expect(happened).toMatchObject({ ok: true, orgId: options.orgId });
      expect(JSON.stringify(happened)).not.toMatch(/\{[a-z]+\.(name|phone)\}/);
    }
  });

  test("failed-transfer: the same customer fails to get through, leaves a message, and gets through", () => {
    const { world, steps } = tell(SCENARIOS.find(({ name }) => name === "failed-transfer"));
    const results = steps.map(({ type, ...options }) => world.happen(type, options));
    const objects = results.map((happened) => (happened.ok ? happened.object : {}));
    expect(new Set(objects.map((object) => (object as { phone: string }).phone)).size).toBe(1);
    expect(objects).toMatchObject([
      { transfer_succeeded: false },
      { reason: "staff_unavailable" },
      { transfer_succeeded: true },
    ]);
    const voicemail = objects[1] as { customer_name: string; phone: string; message_text: string };
    expect(voicemail.message_text).toContain(`This is ${voicemail.customer_name} again.`);
    expect(voicemail.message_text).toContain(voicemail.phone);
  });
});

describe("a scenario", () => {
  const repeated = (...times: number[]) => ({
    ...minimal,
    steps: times.map((count) => ({
      after_seconds: 0,
      type: "call.completed",
      times: count,
      every_seconds: 0,
    })),
  });

  test("is refused with more than 10,000 events, before any is made", () => {
    const parsed = parseScenario(repeated(...Array.from({ length: 1_000 }, () => 1_000)));
    expect(parsed).toEqual({ ok: false, message: expect.stringContaining("1000000 happenings") });
    const most = Array.from({ length: 10 }, () => 1_000);
    expect(parseScenario(repeated(...most)).ok).toBe(true);
    expect(parseScenario(repeated(...most, 1)).ok).toBe(false);
  });
});

describe("running a scenario", () => {
  test("is the same for the same seed, and has other callers the next time", () => {
    const scenario = SCENARIOS.find(({ name }) => name === "failed-transfer")!;
    expect(tell(scenario, { seed: 3 }).steps).toEqual(tell(scenario, { seed: 3 }).steps);
    const { world } = createTestWorld();
    expect(world.planSteps(scenario)).not.toEqual(world.planSteps(scenario));
  });

  test("repeats a step as often as it says, in the order of the times", () => {
    const { steps } = tell({
      ...minimal,
      steps: [
        { after_seconds: 10, type: "order.created", times: 3, every_seconds: 20 },
        { after_seconds: 25, type: "booking.created" },
      ],
    });
    expect(steps.map(({ afterMs, type, orgId }) => [afterMs, type, orgId])).toEqual([
      [10_000, "order.created", RESTAURANT],
      [25_000, "booking.created", SERVICES],
      [30_000, "order.created", RESTAURANT],
      [50_000, "order.created", RESTAURANT],
    ]);
  });

  test("uses the given fields of a caller", () => {
    const { world, steps } = tell({
      ...minimal,
      callers: { guest: { name: "Ada Example", phone: "+12125550142", language: "fr" } },
      steps: [
        {
          after_seconds: 0,
          type: "voicemail.created",
          organization: SERVICES,
          caller: "guest",
          object: { notes: "{guest.name}: {guest.phone}", nested: [{ who: "{guest.name}" }] },
        },
      ],
    });
    const [{ type, ...options } = { type: "call.completed" as const }] = steps;
    expect(world.happen(type, options)).toMatchObject({
      orgId: SERVICES,
      object: {
        customer_name: "Ada Example",
        phone: "+12125550142",
        notes: "Ada Example: +12125550142",
        nested: [{ who: "Ada Example" }],
      },
      call: { detected_language: "fr" },
    });
  });

  const step = (more: object) => ({ ...minimal, steps: [{ ...minimal.steps[0], ...more }] });
  const guest = { callers: { guest: {} } };
  const elsewhere = { after_seconds: 1, type: "order.created", organization: "services" };
  test.each(
    Object.entries({
      "^The scenario: expected object": 7,
      "^steps: .*>=1": { ...minimal, steps: [] },
      'there is no "step" here; there are name.*Did you mean "steps"\\?': { ...minimal, step: [] },
      '^steps\\[0\\]: there is no "after_second" here; .*Did you mean "after_seconds"\\?': step({
        after_second: 0,
      }),
      '^steps\\[0\\]\\.type: .*"call\\.completed"': step({ type: "call.done" }),
      "^steps\\[1\\]: order\\.created does not happen at services, but at restaurant\\.": {
        ...minimal,
        steps: [...minimal.steps, elsewhere],
      },
      '^steps\\[0\\]: "gest" is not one of the .*; there are guest\\. Did you mean "guest"\\?': {
        ...step({ caller: "gest" }),
        ...guest,
      },
      '"guest" is not one of the story\'s callers; there are none\\.': step({
        object: { notes: "{guest.name}" },
      }),
      "^callers\\.guest\\.phone: expected a phone number such as": {
        ...minimal,
        callers: { guest: { phone: "5" } },
      },
      "^steps\\[0\\]\\.after_seconds: ": step({ after_seconds: -1 }),
    }),
  )("is refused with the place: %s", (message, json) => {
    expect(parseScenario(json)).toEqual({ ok: false, message: expect.stringMatching(message) });
  });
});

describe("traffic", () => {
  test("is the same for the same seed, keeps its rate, and makes only valid events", () => {
    const [world, other] = [createTestWorld().world, createTestWorld({ calls: 0 }).world];
    const from = ({ businesses, origin }: typeof world) => ({ seed: origin.seed, perMinute: 30, businesses });
    const steps = Array.from({ length: 2_000 }, (_, index) => trafficStep({ ...from(world), index }));
    expect(steps).toEqual(
      Array.from({ length: 2_000 }, (_, index) => trafficStep({ ...from(other), index })),
    );
    const meanMs = steps.reduce((sum, { afterMs }) => sum + afterMs, 0) / steps.length;
    expect(meanMs).toBeGreaterThan(1_800);
    expect(meanMs).toBeLessThan(2_200);
    expect(new Set(steps.map(({ type }) => type))).toEqual(new Set(EVENT_TYPES));
    for (const { type, orgId } of steps.slice(0, 100))
      expect(world.happen(type, { orgId })).toMatchObject({ ok: true });
  });
});

describe("docs/scenarios.md", () => {
  const page = readFileSync(new URL("../../../docs/scenarios.md", import.meta.url), "utf8");

  test("shows a scenario that runs unchanged", () => {
    const [, example = ""] = /```json\n([\s\S]*?)```/.exec(page) ?? [];
    const { world, steps } = tell(JSON.parse(example));
    expect(steps.map(({ afterMs }) => afterMs / 1000)).toEqual([0, 600, 7_200]);
    for (const { type, ...options } of steps) expect(world.happen(type, options)).toMatchObject({ ok: true });
  });

  test("names every scenario that comes with the simulator, and every field of a step", () => {
    for (const { name } of SCENARIOS) expect(page).toContain(`- \`${name}\``);
    const fields = Object.keys(SCENARIOS[0]?.steps[0] ?? {});
    expect(fields.length).toBeGreaterThan(4);
    for (const field of fields) expect(page).toContain(`\`${field}\``);
  });
});
