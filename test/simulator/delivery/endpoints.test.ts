import { sampleEnvelope } from "../../../shared/samples.ts";
import { describe, expect, test } from "vitest";
import { startEndpoint } from "../../helpers/endpoint.ts";
import {
  deliveryOf,
  emit,
  emitOne,
  gapsSeconds,
  nextEntry,
  openSimulator,
  readingsWith,
  register,
  resend,
} from "../../helpers/simulator.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";

describe("the failure flag", () => {
  test("is raised by the third failed attempt in a row, lowered by a success, and disables nothing", async () => {
    const endpoint = await startEndpoint(500);
    const simulator = openSimulator({ clock: "manual" });
    const { id } = register(simulator, endpoint.url);
    const state = () => simulator.endpoints.find(id);
    emitOne(simulator);
    await simulator.settled();
    expect(state()).toMatchObject({ consecutiveFailures: 1, flagged: false });
    await simulator.clock.next();
    expect(state()).toMatchObject({ consecutiveFailures: 2, flagged: false });
    await simulator.clock.next();
    expect(state()).toMatchObject({ consecutiveFailures: 3, flagged: true });
    await simulator.clock.run();
    expect(state()).toMatchObject({ consecutiveFailures: 6, flagged: true });

    emitOne(simulator);
    await simulator.settled();
    expect(endpoint.received).toHaveLength(7);
    endpoint.behave(200);
    await simulator.clock.next();
    expect(state()).toMatchObject({ consecutiveFailures: 0, flagged: false });
    endpoint.behave((response, count) => response.writeHead(count === 9 ? 500 : 200).end());
    emitOne(simulator);
    await simulator.clock.run();
    expect(state()).toMatchObject({ consecutiveFailures: 0, flagged: false });
  });

  test("counts deliveries that died where the reading says so", async () => {
    const endpoint = await startEndpoint(500);
    const simulator = openSimulator({ clock: "skip", readings: readingsWith({ flag_counts: "deliveries" }) });
    const { id } = register(simulator, endpoint.url);
    for (const [deaths, flagged] of [
      [1, false],
      [2, false],
      [3, true],
    ] as const) {
      emitOne(simulator);
      await simulator.settled();
      expect(simulator.endpoints.find(id)).toMatchObject({ consecutiveFailures: deaths, flagged });
    }
    endpoint.behave(200);
    emitOne(simulator);
    await simulator.settled();
    expect(simulator.endpoints.find(id)).toMatchObject({ consecutiveFailures: 0, flagged: false });
  });
});

describe("several endpoints", () => {
  test("a stalled or dead endpoint delays no other, however many deliveries wait for it", async () => {
    const wall = createVirtualWall();
    const stalled = await startEndpoint(() => {});
    const healthy = await startEndpoint(200);
    const simulator = openSimulator({ clock: "real", wall });
    register(simulator, stalled.url);
    register(simulator, healthy.url);
    register(simulator, "http://127.0.0.1:1/nobody-listens");
    emit(simulator, "call.completed", 60);
    // Wall time stands still, so none of the stalled attempts can have ended.
    await healthy.until(60);
    await stalled.until(16);
    expect(stalled.received).toHaveLength(16);
    expect(healthy.received).toHaveLength(60);
  });

  test("each get the events that they selected, of their organization", async () => {
    const all = await startEndpoint();
    const voicemails = await startEndpoint();
    const restaurant = await startEndpoint();
    const simulator = openSimulator({ clock: "skip" });
    const [first, second] = simulator.world.organizations();
    register(simulator, all.url);
    register(simulator, voicemails.url, { eventTypes: ["voicemail.created"] });
    register(simulator, restaurant.url, { orgId: first?.organization.id ?? "" });
    simulator.events.emit({ type: "voicemail.created", orgId: second?.organization.id ?? "" });
    simulator.events.emit({ type: "call.completed", orgId: first?.organization.id ?? "" });
    await simulator.settled();
    const types = (endpoint: typeof all) =>
      endpoint.received.map(({ body }) => (JSON.parse(body.toString()) as { type: string }).type).toSorted();
    expect(types(all)).toEqual(["call.completed", "voicemail.created"]);
    expect(types(voicemails)).toEqual(["voicemail.created"]);
    expect(types(restaurant)).toEqual(["call.completed"]);
  });

  test("named in a replay get all of its events, of any type and organization", () => {
    const simulator = openSimulator({ clock: "manual" });
    const [first, second] = simulator.world.organizations().map(({ organization }) => organization.id);
    const narrow = { orgId: first ?? "", eventTypes: ["voicemail.created" as const] };
    const { id: endpointId } = register(simulator, "http://localhost:9/", narrow);
    const envelope = { ...sampleEnvelope("order.created"), org_id: second ?? "" };
    const replayed = simulator.events.replay([envelope], { newIds: false, endpointId });
    const deliveries = replayed.ok ? replayed.emitted.flatMap((one) => one.deliveries) : [];
    expect(deliveries).toEqual([expect.objectContaining({ endpointId })]);
  });
});

describe("while deliveries wait", () => {
  test("a changed address gets the next attempt", async () => {
    const old = await startEndpoint(500);
    const moved = await startEndpoint(200);
    const simulator = openSimulator({ clock: "manual" });
    const endpoint = register(simulator, old.url);
    const id = emitOne(simulator);
    await simulator.settled();
    expect(simulator.endpoints.change(endpoint.id, { url: moved.url }).ok).toBe(true);
    await simulator.clock.run();
    expect([old.received.length, moved.received.length]).toEqual([1, 1]);
    expect(moved.received[0]?.body).toEqual(old.received[0]?.body);
    expect(deliveryOf(simulator, id)).toMatchObject({ state: "delivered", attemptsMade: 2 });
  });

  test("a removed endpoint gets nothing more, and its deliveries stay visible as dead", async () => {
    const endpoint = await startEndpoint(500);
    const simulator = openSimulator({ clock: "manual" });
    const { id: endpointId } = register(simulator, endpoint.url);
    const id = emitOne(simulator);
    await simulator.settled();
    simulator.endpoints.remove(endpointId);
    expect(deliveryOf(simulator, id)).toMatchObject({ state: "dead", nextAttemptAtMs: null });
    await simulator.clock.run();
    expect(endpoint.received).toHaveLength(1);
    expect(deliveryOf(simulator, id)).toMatchObject({ state: "dead", attemptsMade: 1 });
    expect(simulator.deliveries.attempts(id)).toHaveLength(1);
  });

  test.each([
    [200, "delivered", "attempts"],
    [500, "dead", "attempts"],
    [500, "dead", "deliveries"],
  ] as const)(
    "if an endpoint is removed during an attempt that ends with %i, the delivery is %s when the flag counts %s",
    async (status, state, counted) => {
      let answer = () => {};
      const endpoint = await startEndpoint((response) => {
        answer = () => response.writeHead(status).end();
      });
      const readings = readingsWith({ flag_counts: counted });
      const simulator = openSimulator({ clock: "manual", readings });
      const { id: endpointId } = register(simulator, endpoint.url);
      const id = emitOne(simulator);
      await endpoint.until(1);
      simulator.endpoints.remove(endpointId);
      answer();
      await simulator.settled();
      expect(deliveryOf(simulator, id).state).toBe(state);
      await simulator.clock.run();
      expect(endpoint.received).toHaveLength(1);
    },
  );
});

describe("sending again", () => {
  test("makes a new delivery of the same bytes with six attempts", async () => {
    const endpoint = await startEndpoint(500);
    const simulator = openSimulator({ clock: "skip" });
    register(simulator, endpoint.url);
    const id = emitOne(simulator);
    await simulator.settled();
    const again = resend(simulator, id);
    await simulator.settled();
    expect(again).not.toBe(id);
    expect(endpoint.received).toHaveLength(12);
    expect(new Set(endpoint.received.map(({ body }) => body.toString("hex"))).size).toBe(1);
    expect(gapsSeconds(simulator, again)).toEqual([60, 300, 1_800, 7_200, 43_200]);
    expect(deliveryOf(simulator, again)).toMatchObject({ state: "dead", attemptsMade: 6, resendOf: id });
    expect(deliveryOf(simulator, id)).toMatchObject({ state: "dead", attemptsMade: 6, resendOf: null });
  });

  test("leaves a delivery that still waits as it is", async () => {
    const endpoint = await startEndpoint(500);
    const simulator = openSimulator({ clock: "manual" });
    register(simulator, endpoint.url);
    const id = emitOne(simulator);
    await simulator.settled();
    const before = deliveryOf(simulator, id);
    endpoint.behave(200);
    const again = resend(simulator, id);
    await simulator.settled();
    expect(deliveryOf(simulator, again).state).toBe("delivered");
    expect(deliveryOf(simulator, id)).toEqual(before);
  });
});

describe("the test action", () => {
  test("sends one synthetic call.completed to that endpoint alone, at once, even if it is paused", async () => {
    const tested = await startEndpoint();
    const other = await startEndpoint();
    const simulator = openSimulator({ clock: "real" });
    const endpoint = register(simulator, tested.url, { eventTypes: ["order.created"] });
    register(simulator, other.url);
    expect(simulator.endpoints.change(endpoint.id, { paused: true }).ok).toBe(true);
    const delivered = nextEntry(simulator, ({ kind }) => kind === "attempt.ended");
    expect(simulator.endpoints.test(endpoint.id)).toMatchObject({ ok: true });
    await delivered;
    expect(JSON.parse(tested.received[0]?.body.toString() ?? "")).toMatchObject({
      type: "call.completed",
      data: { object: { object: "call" } },
    });
    expect(other.received).toHaveLength(0);
  });
});

describe("a reset", () => {
  test("deletes what was sent and reuses no event id", async () => {
    const endpoint = await startEndpoint();
    const simulator = openSimulator({ clock: "skip" });
    register(simulator, endpoint.url);
    emit(simulator, "call.completed", 3);
    await simulator.settled();
    await simulator.reset({ endpoints: true });
    expect(simulator.deliveries.page({ limit: 10 }).deliveries).toEqual([]);
    emit(simulator, "call.completed", 3);
    await simulator.settled();
    const ids = endpoint.received.map(({ body }) => (JSON.parse(body.toString()) as { id: string }).id);
    expect(new Set(ids).size).toBe(6);
  });
});
