import { expect, test } from "vitest";
import { createControlClient } from "../../../simulator/commands/control-client.ts";
import { createTools } from "../../../simulator/mcp/tools.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { startService, type Json } from "../../helpers/service.ts";
import { register } from "../../helpers/simulator.ts";

/** What each tool does with its arguments, compared with the control API. */

async function startTools() {
  const service = await startService({ clock: "manual", calls: 0 });
  const tools = createTools(createControlClient({ simulator: service.url }));
  const call = async (name: string, input: object = {}): Promise<Json> => {
    const answer = await tools.find((tool) => tool.name === name)?.run(input);
    const json: Json = JSON.parse(answer?.content.map(({ text }) => text).join("") ?? "");
    return json;
  };
  return { ...service, call };
}

test("deliveries are listed as the API lists them, the newest ten unless told otherwise, by each filter and by all", async () => {
  const { ask, call, simulator } = await startTools();
  const [takes, fails] = [await startEndpoint(200), await startEndpoint(500)];
  const one = register(simulator, takes.url).id;
  register(simulator, fails.url);
  const { body } = await ask("POST", "/events", { type: "call.completed", count: 8 });
  await simulator.settled();
  const [event] = body["events"] as { id: string }[];
  const filters = [
    {},
    { limit: 3 },
    { state: "delivered" },
    { endpoint_id: one },
    { event_id: event?.id },
    { state: "failed", event_id: event?.id },
    { state: "failed", endpoint_id: one },
    { state: "delivered", endpoint_id: one, event_id: event?.id, limit: 1 },
  ];
  const counts: number[] = [];
  for (const filter of filters) {
    const given = new URLSearchParams();
    for (const [name, value] of Object.entries({ limit: 10, ...filter })) given.set(name, String(value));
    const listed = (await ask("GET", `/deliveries?${given.toString()}`)).body;
    const json = await call("deliveries", filter);
    expect(json.data?.map(({ id }) => id)).toEqual(listed.data?.map(({ id }) => id));
    counts.push(json.data?.length ?? 0);
  }
  expect(counts).toEqual([10, 3, 8, 8, 2, 1, 0, 1]);
  await expect(call("deliveries", { limit: 0 })).rejects.toThrow("limit");
  expect((await call("deliveries", { limit: 50 })).data).toHaveLength(16);
});

test("trigger emits the given type with its fields, count and organization, or runs a scenario", async () => {
  const { ask, call, simulator } = await startTools();
  const [, services] = simulator.world.organizations();
  const orgId = services?.organization.id;
  const made = await call("trigger", {
    type: "call.completed",
    count: 2,
    org_id: orgId,
    object: { duration_sec: 7 },
  });
  const events = made["events"] as { id: string }[];
  expect(events).toMatchObject([{ org_id: orgId }, { org_id: orgId }]);
  for (const { id } of events)
    expect((await ask("GET", `/events/${id}`)).body).toMatchObject({
      envelope: { data: { object: { duration_sec: 7 } } },
    });
  expect(await call("trigger", { type: "order.created" })).toMatchObject({ events: [{}] });
  expect(await call("trigger", { scenario: "outage" })).toMatchObject({ object: "story", name: "outage" });
  await expect(call("trigger", { scenario: "outage", type: "order.created" })).rejects.toThrow(
    "Give either a type",
  );
  for (const count of [0, 101])
    await expect(call("trigger", { type: "order.created", count })).rejects.toThrow("count");
});

test("time is moved by seconds, to the next attempt, or to the end", async () => {
  const { call, simulator } = await startTools();
  register(simulator, (await startEndpoint(500)).url);
  simulator.events.emit({ type: "call.completed" });
  await simulator.settled();
  const attempts = () => simulator.deliveries.page({ limit: 1 }).deliveries[0]?.attempts.length;
  for (const [step, made] of [
    [{ seconds: 59 }, 1],
    [{ seconds: 1 }, 2],
    [{ until: "next" }, 3],
    [{ until: "idle" }, 6],
  ] as const) {
    expect(await call("move_time", step)).toMatchObject({ object: "clock", mode: "manual" });
    expect(attempts()).toBe(made);
  }
  await expect(call("move_time", { seconds: 1, until: "idle" })).rejects.toThrow(
    "Give either seconds or until.",
  );
});

test("the only endpoint is judged if none is named; with several, the error lists them", async () => {
  const { call, simulator } = await startTools();
  const only = ["acknowledgement.call-completed", "signature.missing-header", "effects.in-sequence"];
  await expect(call("verify", { only })).rejects.toThrow("No endpoint: register the receiver first");
  const receiver = await startEndpoint(200);
  const { id } = register(simulator, receiver.url);
  const verdict = {
    state: "ended",
    verdict: "failed",
    done: 3,
    total: 3,
    // Failed checks come before unverified ones, even if they ended later.
    not_passed: [
      { id: "signature.missing-header", outcome: "failed" },
      { id: "effects.in-sequence", outcome: "unverified" },
    ],
    passed: expect.arrayContaining(["preflight.reachable", "acknowledgement.call-completed"]) as unknown,
  };
  expect(await call("verify", { only, wait_seconds: 60 })).toMatchObject(verdict);
  const other = register(simulator, `${receiver.url}/other`);
  await expect(call("verify", { only })).rejects.toThrow(
    `Name one of the endpoints: ${id} (${receiver.url}), ${other.id} (${receiver.url}/other).`,
  );
  expect(await call("verify", { only, endpoint_id: id, wait_seconds: 60 })).toMatchObject(verdict);
  // With no wait, the answer has the progress.
  receiver.behave(() => {});
  expect(await call("verify", { only, endpoint_id: id, wait_seconds: 0 })).toMatchObject({
    state: "running",
    verdict: null,
    done: 0,
    total: 3,
  });
  await simulator.verification.cancel();
});
