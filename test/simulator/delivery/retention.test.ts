import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { listen } from "../../../simulator/service/server.ts";
import { allDeliveries, allEvents } from "../../helpers/records.ts";
import { ALL } from "../../helpers/run/sizes.ts";
import { emit, emitOne, openSimulator, register, temporaryDirectory } from "../../helpers/simulator.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";

type Options = Parameters<typeof openSimulator>[0];

/** A simulator whose endpoint answers `status`, with a limit of `deliveries`. */
function keepOnly(deliveries: number, { status = 200, ...options }: Options & { status?: number } = {}) {
  const simulator = openSimulator({
    clock: "manual",
    retention: { deliveries },
    send: async () => ({ outcome: { status }, durationMs: 1 }),
    ...options,
  });
  register(simulator, "http://localhost:9/");
  return simulator;
}

describe("the deliveries that are kept", () => {
  test("are the newest, with their events, attempts and objects", async () => {
    const simulator = keepOnly(20);
    const ids = emit(simulator, "voicemail.created", 50);
    await simulator.settled();
    await simulator.settled();
    expect(allDeliveries(simulator).map(({ id }) => id)).toEqual(ids.slice(-20).toReversed());
    expect(simulator.counts.deliveries()).toMatchObject({ total: 20, byState: { delivered: 20 } });
    expect(simulator.counts.events()).toBe(20);
    for (const id of ids.slice(0, 30)) expect(simulator.deliveries.attempts(id)).toEqual([]);
    for (const id of ids.slice(30)) expect(simulator.deliveries.attempts(id)).toHaveLength(1);
    const pages = simulator.world
      .organizations()
      .map(({ organization }) => simulator.world.voicemails(organization.id, { limit: 100 }));
    const voicemails = pages.flatMap((page) => (page.ok ? page.data : []));
    const objects = allEvents(simulator).map(({ body }) => (JSON.parse(body.toString()) as Sent).data.object);
    expect(voicemails).toEqual(objects);
    for (const { call_id: callId } of objects) expect(simulator.world.findCall(callId)).toBeDefined();
  });

  test("keep their event and its call, as long as one delivery of the event is kept", async () => {
    const simulator = keepOnly(1);
    register(simulator, "http://localhost:9/other");
    const [, last = ""] = emit(simulator, "call.completed");
    await simulator.settled();
    await simulator.settled();
    expect(allDeliveries(simulator).map(({ id }) => id)).toEqual([last]);
    const [event] = allEvents(simulator);
    const { id } = (JSON.parse(event?.body.toString() ?? "") as { data: { object: { id: string } } }).data
      .object;
    expect(simulator.world.findCall(id)).toBeDefined();
    emit(simulator, "voicemail.created");
    await simulator.settled();
    await simulator.settled();
    expect(simulator.world.findCall(id)).toBeUndefined();
  });

  test("are waiting ones, as long as there are finished ones to delete", async () => {
    const statuses = [500, 500, 500];
    const simulator = keepOnly(10, {
      send: async () => ({ outcome: { status: statuses.pop() ?? 200 }, durationMs: 1 }),
    });
    const ids = emit(simulator, "call.completed", 3);
    await simulator.settled();
    emit(simulator, "call.completed", 30);
    await simulator.settled();
    await simulator.settled();
    expect(allDeliveries(simulator)).toHaveLength(10);
    for (const id of ids) expect(simulator.deliveries.find(id)).toMatchObject({ state: "attempting" });
    await simulator.clock.run();
    for (const id of ids) expect(simulator.deliveries.find(id)).toMatchObject({ state: "delivered" });
  });

  test("are the newest finished ones, delivered or dead", async () => {
    const simulator = keepOnly(6, {
      send: async ({ url }) => ({ outcome: { status: url.includes("gone") ? 500 : 200 }, durationMs: 1 }),
    });
    const { id } = register(simulator, "http://localhost:9/gone", { eventTypes: ["order.created"] });
    const dead = emit(simulator, "order.created", 3);
    await simulator.settled();
    simulator.endpoints.remove(id);
    const delivered = emit(simulator, "call.completed", 2);
    await simulator.settled();
    await simulator.settled();
    const all = [...dead, ...delivered];
    expect(allDeliveries(simulator).map((delivery) => delivery.id)).toEqual(all.slice(-6).toReversed());
    expect(simulator.counts.deliveries().byState).toEqual({ attempting: 0, delivered: 4, dead: 2 });
  });

  test("don't exceed the limit even if all of them wait, and always include open ones", async () => {
    const waiting = keepOnly(10, { status: 500 });
    const ids = emit(waiting, "call.completed", 25);
    await waiting.settled();
    await waiting.settled();
    expect(allDeliveries(waiting).map(({ id }) => id)).toEqual(ids.slice(-10).toReversed());

    let answer = () => {};
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const busy = keepOnly(1, {
      send: () => answered.then(() => ({ outcome: { status: 200 }, durationMs: 1 })),
    });
    const own = emit(busy, "call.completed", 5);
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(allDeliveries(busy)).toHaveLength(5);
    answer();
    await busy.settled();
    emitOne(busy);
    await busy.settled();
    await busy.settled();
    for (const id of own) expect(busy.deliveries.find(id)).toBeUndefined();
  });

  test("are only open ones if attempts never cease and the limit is far exceeded", async () => {
    let sent = 0;
    const simulator = keepOnly(100_000, {
      // Any number of deliveries is far more than this.
      retention: { bytes: 1 },
      // The first one hangs until the simulator ends: an attempt is always open.
      send: ({ signal }) =>
        sent++ === 0
          ? new Promise((resolve) =>
              signal.addEventListener("abort", () =>
                resolve({ outcome: { error: "interrupted" }, durationMs: 1 }),
              ),
            )
          : Promise.resolve({ outcome: { status: 500 }, durationMs: 1 }),
    });
    const [hanging = ""] = emit(simulator, "call.completed", 20);
    for (let turn = 0; turn < 1_000 && simulator.counts.deliveries().total > 1; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(allDeliveries(simulator)).toMatchObject([{ id: hanging, state: "attempting" }]);
  });

  test("keep their event as long as one of its deliveries is kept", async () => {
    const simulator = keepOnly(3);
    const [first = ""] = emit(simulator);
    await simulator.settled();
    const again = simulator.deliveries.resend(first);
    emit(simulator, "call.completed", 2);
    await simulator.settled();
    await simulator.settled();
    expect(simulator.deliveries.find(first)).toBeUndefined();
    const delivery = simulator.deliveries.find(again.ok ? again.id : "");
    expect(simulator.events.find(delivery?.eventId ?? "")).toBeDefined();
  });

  test("have the same limit as events without deliveries", async () => {
    const simulator = openSimulator({ clock: "manual", retention: { deliveries: 10 } });
    emit(simulator, "call.completed", 35);
    await simulator.settled();
    await simulator.settled();
    expect(simulator.counts.events()).toBe(10);
  });

  test.runIf(ALL)("are fewer if they have too many bytes", async () => {
    const simulator = keepOnly(100_000, { retention: { bytes: 3_000_000 } });
    for (let round = 0; round < 4; round++) {
      emit(simulator, "call.completed", 500);
      await simulator.settled();
      await simulator.settled();
    }
    const { total } = simulator.counts.deliveries();
    expect(total).toBeGreaterThan(0);
    expect(total).toBeLessThan(1_500);
  });

  test("shrink when a data file is opened with a lower limit", async () => {
    const dataFile = join(temporaryDirectory(), "simulator.db");
    const first = keepOnly(100, { dataFile });
    emit(first, "call.completed", 40);
    await first.settled();
    await first.close();
    const second = keepOnly(15, { dataFile });
    await second.settled();
    await second.settled();
    expect(second.counts.deliveries().total).toBe(15);
  });

  test("are as many as allowed if finished ones are deleted and then waiting ones", async () => {
    const dataFile = join(temporaryDirectory(), "simulator.db");
    const statuses = [500, 500, 500, 200];
    const send = async () => ({ outcome: { status: statuses.pop() ?? 200 }, durationMs: 1 });
    const first = keepOnly(100, { dataFile, send });
    const ids = emit(first, "call.completed", 4);
    await first.settled();
    await first.close();
    const second = keepOnly(2, { dataFile });
    await second.settled();
    await second.settled();
    expect(allDeliveries(second).map(({ id }) => id)).toEqual(ids.slice(-2).toReversed());
  });

  test.runIf(ALL)("are as many after hours of traffic as after minutes", async () => {
    const wall = createVirtualWall();
    const simulator = keepOnly(100, { wall, clock: "real", calls: 20 });
    simulator.traffic.set(600);
    for (let second = 0; second < 120; second++) {
      wall.pass(1_000);
      await simulator.settled();
    }
    simulator.traffic.set(0);
    await simulator.settled();
    expect(simulator.counts.deliveries().total).toBeLessThanOrEqual(102);
    expect(simulator.counts.events()).toBeLessThanOrEqual(102);
    const stored = simulator.world.organizations().flatMap(({ organization }) => {
      const page = simulator.world.calls(organization.id, { limit: 100_000 });
      return page.ok ? page.data : [];
    });
    expect(stored.length).toBeLessThanOrEqual(20 + 102);
  });
});

type Sent = { data: { object: { call_id: string } } };

test("an unknown delivery is reported as one that may have been removed", async () => {
  const simulator = keepOnly(5);
  const [first] = emit(simulator, "call.completed", 20);
  await simulator.settled();
  await simulator.settled();
  const listening = await listen(simulator, { port: 0, host: "127.0.0.1", onError: () => {} });
  if (!listening.ok) throw new Error(listening.message);
  const response = await fetch(`${listening.server.url}/control/deliveries/${first}`);
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ message: expect.stringContaining("the last 5 are kept") });
  await listening.server.close();
});
