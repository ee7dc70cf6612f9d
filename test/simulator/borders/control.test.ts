import { expect, test } from "vitest";
import { LARGEST_SCENARIO_BYTES } from "../../../simulator/domain/world/scenario.ts";
import { jsonShapeProblem } from "../../../simulator/text/json-shape.ts";
import { startService } from "../../helpers/service.ts";

const MEGABYTES = "x".repeat(2 * 1024 * 1024);

const step = { after_seconds: 0, type: "call.completed" };
const scenario = (more: object) => ({ name: "long", summary: "Long.", steps: [step], ...more });

/** Oversized input for each route; each is refused at once with a message, and changes nothing. */
const TOO_MUCH: [what: string, path: string, body: () => unknown, says: RegExp][] = [
  ["a type of megabytes", "/events", () => ({ type: MEGABYTES }), /^type: /],
  [
    "an organization of megabytes",
    "/events",
    () => ({ type: "call.completed", org_id: MEGABYTES }),
    /^org_id: /,
  ],
  ["a recorded type of megabytes", "/replay", () => ({ envelopes: [envelope({ type: MEGABYTES })] }), /type/],
  ["an address of megabytes", "/endpoints", () => ({ url: `http://localhost/${MEGABYTES}` }), /^url: /],
  [
    "a secret of megabytes",
    "/endpoints",
    () => ({ url: "http://localhost/", secret: MEGABYTES }),
    /^secret: /,
  ],
  [
    "a million faults",
    "/endpoints",
    () => ({ url: "http://localhost/", faults: Array.from({ length: 9_999 }, () => "delay") }),
    /^faults: /,
  ],
  [
    "a million steps",
    "/scenarios",
    () => scenario({ steps: Array.from({ length: 1_000 }, () => ({ ...step, times: 1_000 })) }),
    /1000000 happenings/,
  ],
  [
    "a scenario of megabytes",
    "/scenarios",
    () => scenario({ summary: MEGABYTES }),
    new RegExp(`${LARGEST_SCENARIO_BYTES} are the maximum`),
  ],
];

function envelope(more: object) {
  return {
    id: `evt_${"a".repeat(32)}`,
    type: "call.completed",
    created: 1,
    api_version: "v1",
    data: { object: { object: "call" } },
    org_id: "org_1",
    ...more,
  };
}

test("oversized input is refused briefly, and changes nothing", async () => {
  const { ask, simulator } = await startService();
  const lastId = simulator.journal.lastId();
  const known = simulator.scenarios.list().length;
  for (const [what, path, body, says] of TOO_MUCH) {
    const answer = await ask("POST", path, body());
    expect(answer.status, what).toBe(400);
    expect(answer.body["message"], what).toMatch(says);
    expect(String(answer.body["message"]).length, what).toBeLessThan(500);
  }
  expect(simulator.journal.lastId()).toBe(lastId);
  expect(simulator.scenarios.list()).toHaveLength(known);
});

const NESTED = `${"[".repeat(10_000)}${"]".repeat(10_000)}`;
const WIDE = `{${Array.from({ length: 600_000 }, (_, key) => `"k${key}":0`).join(",")}}`;

test.each([
  ["/events", NESTED, "nested deeper than 64 levels"],
  ["/scenarios", NESTED, "nested deeper than 64 levels"],
  ["/replay", NESTED, "nested deeper than 64 levels"],
  ["/events", WIDE, "more than 250,000 values"],
])(
  "JSON that is nested too deeply or has too many values is not parsed by POST %s",
  async (path, object, says) => {
    const { url } = await startService();
    const answer = await fetch(`${url}/control${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: `{"type":"call.completed","object":${object}}`,
    });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain(says);
  },
);

test.each([
  ['{"a":"[[["}', undefined],
  ['{"a":"\\"[,,"}', undefined],
  ["[1,2,3]", undefined],
  ["[1,2,3,4]", "it has more than 3 values"],
  ["[[],[]]", "it has more than 3 values"],
  ["[".repeat(64), undefined],
  ["[".repeat(65), "it is nested deeper than 64 levels"],
  [`${"[]".repeat(2)}[`, undefined],
])("the shape of %s", (text, problem) => {
  expect(jsonShapeProblem(Buffer.from(text), text.length > 20 ? 100 : 3)).toBe(problem);
});
