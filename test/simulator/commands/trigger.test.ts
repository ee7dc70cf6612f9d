import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { temporaryDirectory } from "../../helpers/simulator.ts";
import type { DeliveryShape } from "../../../simulator/domain/shapes.ts";
import { startService } from "./in-process.ts";

test("prints the first attempt's answer, with the body of a refusal", async () => {
  const { sim, simulator } = await startService();
  const receiver = await startEndpoint((response) =>
    response.writeHead(500).end("no table orders\nat db.js:7"),
  );
  simulator.endpoints.add({ url: receiver.url });
  const { code, out } = await sim("trigger", "order.created");
  expect(code).toBe(0);
  const [, result, ...body] = out.trimEnd().split("\n");
  expect(result).toMatch(
    new RegExp(
      `^\\[500\\] POST ${receiver.url} \\[ep_\\w+\\] attempt 1, \\d+ ms; next at \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d$`,
    ),
  );
  expect(body).toEqual(["  no table orders", "  at db.js:7"]);

  receiver.behave((response) => response.writeHead(200).end("thanks"));
  const second = await startEndpoint(401);
  simulator.endpoints.add({ url: second.url });
  const both = (await sim("trigger", "order.created")).out;
  expect(both).toContain(`[200] POST ${receiver.url}`);
  expect(both).toContain(`[401] POST ${second.url}`);
  expect(both).not.toContain("thanks");

  const { json } = await sim("trigger", "order.created", "--json");
  const { deliveries } = json<{ deliveries: DeliveryShape[] }>();
  expect(deliveries.map(({ attempts }) => attempts[0]?.http_status)).toEqual([200, 401]);
});

test("waits only for due attempts, and for none with --no-wait", async () => {
  const { sim, simulator } = await startService();
  const receiver = await startEndpoint(() => {});
  simulator.endpoints.add({ url: receiver.url });
  expect((await sim("trigger", "order.created", "--fault", "delay")).out).toMatch(
    /^\[later\] POST http\S+ \[ep_\w+\]; next at /m,
  );
  const { out, err } = await sim("trigger", "order.created", "--no-wait");
  expect(out).toMatch(/^order\.created {2}evt_\w+\n$/);
  expect(err).toContain("See it:");
});

test("sets fields by the types of the schema, and many events at once", async () => {
  const { sim, simulator } = await startService();
  const orgId = simulator.organizations()[1]?.id ?? "";
  const sets = ["outcome=voicemail", "duration_sec=7", "transcript=42", "transferred=false"];
  const options = ["--count", "25", "--org", orgId, "--json", ...sets.flatMap((set) => ["--set", set])];
  const { code, json } = await sim("trigger", "call.completed", ...options);
  expect(code).toBe(0);
  expect(json().events).toHaveLength(25);
  const { data } = (await sim("events", "show", json().events[0].id, "--json")).json().envelope;
  expect(data.object).toMatchObject({
    outcome: "voicemail",
    duration_sec: 7,
    transcript: "42",
    transferred: false,
  });
  expect((await sim("trigger", "call.completed", "--count", "25")).out).toContain("… and 5 more");
});

test("paths reach into objects and lists; a value is JSON where it can be, and a later path reaches into it", async () => {
  const { sim } = await startService();
  const places = ["items.0.quantity=2", "items.1.name=Bread", "address.street=Main St."];
  const sets = ["note=ring twice", 'items=[{"name":"Soup"}]', ...places];
  const options = ["--json", ...sets.flatMap((set) => ["--set", set])];
  const { json } = await sim("trigger", "order.created", ...options);
  const { data } = (await sim("events", "show", json().events[0].id, "--json")).json().envelope;
  expect(data.object).toMatchObject({
    note: "ring twice",
    items: [{ name: "Soup", quantity: 2 }, { name: "Bread" }],
    address: { street: "Main St." },
  });
});

test("a path to a list item changes this item of the generated list, and leaves the others", async () => {
  const { sim, simulator } = await startService();
  const made = await simulator.emit("order.created", {
    object: { items: [{ name: "A", quantity: 2 }, { name: "B" }] },
  });
  expect(made.events[0]?.data.object["items"]).toHaveLength(2);
  const { json } = await sim("trigger", "order.created", "--json", "--set", "items.0.name=Pizza");
  const { data } = (await sim("events", "show", json().events[0].id, "--json")).json().envelope;
  expect(data.object.items[0]).toEqual({
    name: "Pizza",
    quantity: expect.any(Number),
    unit_price: expect.any(String),
  });
});

test.each([
  [["call.complete"], 'Unknown event type "call.complete". Did you mean "call.completed"?'],
  [["outge"], 'Unknown scenario "outge". Did you mean "outage"?'],
  [["call.completed", "--set", "transfered=true"], 'Did you mean "transferred"?'],
  [["call.completed", "--set", "duration_sec=long"], "object.duration_sec: "],
  [["call.completed", "--set", "phone.country=1"], "object.phone: "],
  [["call.completed", "--set", "outcome"], "write path=value"],
  [["call.completed", "--set", "a..b=1"], "the path has an empty part"],
  [["order.created", "--set", "items=[]", "--set", "items.3.name=Soup"], "needs the items before it"],
  [["call.completed", "--set", "phone=12125550100"], "expected a phone number such as +12125550123"],
  [["order.created", "--count", "10001"], "Give a whole number from 1 to 10000"],
  [["order.created", "--fault", "slowbody"], "Unknown fault"],
  [["order.created", "--fault", "drop-answer:9"], "1 to 6"],
  [["order.created", "--fault", "duplicate:2"], "leave :2 out"],
  [["order.created", "--set", "items.9.name=Soup"], "counted from 0"],
  [["order.created", "--org", "org_x"], "org_x"],
  [["order"], "an event type has a period, as order.created"],
  [["order.created", "--set", "__proto__.x=1"], "no field can be called __proto__"],
  [["missing.json"], "The scenario missing.json cannot be read: there is no such file."],
])("%j is wrong usage, in one line", async (args, message) => {
  const { sim } = await startService();
  const { code, out, err } = await sim("trigger", ...args);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(message);
  expect(err.trimEnd().split("\n")[0]).toContain(message.slice(0, 10));
});

test("a fault affects only the events of its command", async () => {
  const { sim, simulator } = await startService();
  const receiver = await startEndpoint();
  simulator.endpoints.add({ url: receiver.url });
  await sim("trigger", "call.completed", "--fault", "duplicate-concurrently");
  await receiver.until(2);
  await sim("trigger", "order.created");
  await simulator.deliveries.settled();
  expect(receiver.received).toHaveLength(3);
});

test("runs a built-in scenario in schedule time", async () => {
  const { sim, simulator } = await startService();
  const receiver = await startEndpoint();
  simulator.endpoints.add({ url: receiver.url });
  const { code, out, err } = await sim("trigger", "after-hours-voicemail");
  expect(code).toBe(0);
  expect(out).toMatch(/^after-hours-voicemail {2}.*\n4 events until /);
  expect(err).toContain("clock run");
  await sim("clock", "run");
  const types = receiver.received.map(({ body }) => JSON.parse(body.toString()).type as string);
  expect(types.toSorted()).toEqual([
    "call.completed",
    "call.completed",
    "order.created",
    "voicemail.created",
  ]);
});

test("runs a scenario from a file, and reports errors in one", async () => {
  const { sim } = await startService();
  const file = join(temporaryDirectory(), "story.json");
  const story = {
    name: "two-calls",
    summary: "Two calls.",
    steps: [{ after_seconds: 5, type: "call.completed", times: 2 }],
  };
  writeFileSync(file, JSON.stringify(story));
  expect((await sim("trigger", file, "--json")).json()).toMatchObject({ name: "two-calls", steps: 2 });
  expect((await sim("trigger", "two-calls", "--json")).json()).toMatchObject({ name: "two-calls" });

  writeFileSync(file, JSON.stringify({ ...story, steps: [{ after: 5, type: "call.completed" }] }));
  const { code, err } = await sim("trigger", file);
  expect(code).toBe(2);
  expect(err).toContain('"after"');
});
