import { expect, test } from "vitest";
import { startService } from "../commands/in-process.ts";
import { control } from "../../helpers/control.ts";

const story = {
  name: "two-calls",
  summary: "Two calls.",
  steps: [{ after_seconds: 60, type: "call.completed", times: 2, every_seconds: 30 }],
};

test("scenarios are listed, added and run in schedule time", async () => {
  const { simulator } = await startService();
  const names = async () => {
    const { body } = await control<{ data: { name: string }[] }>(simulator.url, "GET", "/scenarios");
    return body.data.map(({ name }) => name);
  };
  expect(await names()).toEqual(expect.arrayContaining(["busy-friday", "outage"]));
  expect(await control(simulator.url, "POST", "/scenarios", story)).toMatchObject({
    status: 201,
    body: { object: "scenario", name: "two-calls" },
  });
  expect(await names()).toContain("two-calls");

  const now = simulator.clock.now().getTime();
  const begun = await control(simulator.url, "POST", "/scenarios/two-calls", {});
  expect(begun).toMatchObject({
    status: 202,
    body: { object: "story", name: "two-calls", steps: 2, events: 2 },
  });
  expect(Date.parse(String(begun.body["ends_at"]))).toBe(now + 90_000);

  const events = async () =>
    (await control<{ data: unknown[] }>(simulator.url, "GET", "/events")).body.data.length;
  await simulator.clock.advance(59);
  expect(await events()).toBe(0);
  await simulator.clock.advance(1);
  expect(await events()).toBe(1);
  await simulator.clock.run();
  expect(await events()).toBe(2);
});

test("a scenario is listed with its number of events, including repetitions and the calls of orders", async () => {
  const { simulator } = await startService();
  const more = { ...story, steps: [...story.steps, { after_seconds: 0, type: "order.created" }] };
  await control(simulator.url, "POST", "/scenarios", { ...more, name: "four-events" });
  const { body } = await control<{ data: object[] }>(simulator.url, "GET", "/scenarios");
  expect(body.data).toContainEqual({
    object: "scenario",
    name: "four-events",
    summary: "Two calls.",
    events: 4,
  });
});

test("an unknown or malformed scenario is refused", async () => {
  const { simulator } = await startService();
  const unknown = await control(simulator.url, "POST", "/scenarios/outge", {});
  expect(unknown).toMatchObject({ status: 404, body: { error: "not_found" } });
  expect(unknown.body["message"]).toContain('Did you mean "outage"?');
  const malformed = await control(simulator.url, "POST", "/scenarios", { ...story, steps: [] });
  expect(malformed).toMatchObject({ status: 400, body: { error: "invalid_request" } });
});

test("a reset drops the remaining steps of a scenario", async () => {
  const { simulator } = await startService();
  await control(simulator.url, "POST", "/scenarios", story);
  await control(simulator.url, "POST", "/scenarios/two-calls", {});
  await simulator.reset();
  await simulator.clock.run();
  const { body } = await control<{ data: unknown[] }>(simulator.url, "GET", "/events");
  expect(body.data).toEqual([]);
});
