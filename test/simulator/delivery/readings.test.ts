import { describe, expect, test } from "vitest";
import { verify } from "../../../shared/signature.ts";
import { attemptRequest } from "../../../simulator/domain/attempt-request.ts";
import type { Readings } from "../../../simulator/domain/readings.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { loopTurns } from "../../helpers/loop-turns.ts";
import {
  deliveryOf,
  emit,
  emitOne,
  nextEntry,
  openSimulator,
  readingsWith,
  register,
} from "../../helpers/simulator.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";

type Choice<Name extends keyof Readings> = Readings[Name];

describe("delay_counts_from", () => {
  test.each<[Choice<"delay_counts_from">, number]>([
    ["attempt_end", 67],
    ["attempt_start", 60],
  ])("%s: after an attempt of 7 s the next is due %i s after its start", async (choice, seconds) => {
    const wall = createVirtualWall();
    let answer = () => {};
    const endpoint = await startEndpoint((response) => {
      answer = () => response.writeHead(500).end();
    });
    const readings = readingsWith({ delay_counts_from: choice });
    const simulator = openSimulator({ clock: "real", wall, readings });
    register(simulator, endpoint.url);
    const id = emitOne(simulator);
    await endpoint.until(1);
    wall.pass(7_000);
    answer();
    await simulator.settled();
    const [attempt] = simulator.deliveries.attempts(id);
    expect(deliveryOf(simulator, id).nextAttemptAtMs).toBe((attempt?.startedAtMs ?? 0) + seconds * 1000);
  });
});

describe("answer_means", () => {
  /** Headers of a 200 at once, and a body that stalls. */
  async function attemptWithStalledBody(choice: Choice<"answer_means">) {
    const wall = createVirtualWall();
    const endpoint = await startEndpoint((response) => {
      response.writeHead(200, { "content-length": "10" });
      response.write("half");
    });
    const simulator = openSimulator({
      clock: "manual",
      wall,
      readings: readingsWith({ answer_means: choice }),
    });
    register(simulator, endpoint.url);
    const id = emitOne(simulator);
    await endpoint.until(1);
    const ended = nextEntry(simulator, ({ kind }) => kind === "attempt.ended");
    // The headers must arrive over loopback before the deadline moves on.
    await loopTurns(20);
    wall.pass(10_000);
    await ended;
    return { delivery: deliveryOf(simulator, id), attempt: simulator.deliveries.attempts(id)[0] };
  }

  test("headers: the status line decides, not the body", async () => {
    const { delivery, attempt } = await attemptWithStalledBody("headers");
    expect(delivery.state).toBe("delivered");
    expect(attempt).toMatchObject({ httpStatus: 200, error: null, durationMs: 0 });
    expect(attempt?.answer?.body.toString()).toBe("half");
  });

  test("full_body: the whole body must arrive in time", async () => {
    const { delivery, attempt } = await attemptWithStalledBody("full_body");
    expect(delivery.state).toBe("attempting");
    expect(attempt).toMatchObject({ httpStatus: null, error: "timeout", durationMs: 10_000 });
  });

  test("full_body: a body that arrives in time is an answer", async () => {
    const endpoint = await startEndpoint((response) => response.writeHead(200).end("x".repeat(100_000)));
    const simulator = openSimulator({ clock: "skip", readings: readingsWith({ answer_means: "full_body" }) });
    register(simulator, endpoint.url);
    const id = emitOne(simulator);
    await simulator.settled();
    const [attempt] = simulator.deliveries.attempts(id);
    expect(attempt).toMatchObject({ httpStatus: 200, answer: { truncated: true } });
    expect(attempt?.answer?.body).toHaveLength(16 * 1024);
  });
});

describe("retry_body", () => {
  test.each<[Choice<"retry_body">, number]>([
    ["same_bytes", 1],
    ["reserialized", 2],
  ])("%s: six attempts carry %i different bodies, of one JSON value", async (choice, different) => {
    const endpoint = await startEndpoint(500);
    const simulator = openSimulator({ clock: "skip", readings: readingsWith({ retry_body: choice }) });
    const { secret } = register(simulator, endpoint.url);
    const id = emitOne(simulator);
    await simulator.settled();
    expect(new Set(endpoint.received.map(({ body }) => body.toString())).size).toBe(different);
    const [first] = endpoint.received;
    for (const { body, signature, t } of endpoint.received) {
      expect(JSON.parse(body.toString())).toEqual(JSON.parse(first?.body.toString() ?? ""));
      expect(verify({ headers: [signature], body, secrets: [secret], nowSeconds: t }).ok).toBe(true);
    }
    const kept = simulator.deliveries.attempts(id).map(({ requestBody }) => requestBody);
    expect(kept).toEqual(
      endpoint.received.map(({ body }) => (body.equals(first?.body ?? body) ? null : body)),
    );
  });
});

test("retry_body reserialized: a number keeps every digit that it was written with", () => {
  const written = '{"big":9007199254740993,"tenth":[{"of":1.5}],"id":"evt_1"}';
  const { body } = attemptRequest({
    url: "http://127.0.0.1/",
    body: Buffer.from(written),
    secrets: ["s"],
    number: 2,
    wallNowMs: 0,
    faults: new Set(),
    readings: readingsWith({ retry_body: "reserialized" }),
  });
  expect(body.toString().replaceAll(/\s/g, "")).toBe(
    '{"id":"evt_1","tenth":[{"of":1.5}],"big":9007199254740993}',
  );
});

test("retry_body reserialized: retries have their keys in another order, at every depth", async () => {
  const endpoint = await startEndpoint((response, count) => response.writeHead(count < 3 ? 500 : 200).end());
  const simulator = openSimulator({ clock: "skip", readings: readingsWith({ retry_body: "reserialized" }) });
  register(simulator, endpoint.url);
  emitOne(simulator, "order.created");
  await simulator.settled();
  const keys = endpoint.received.map(({ body }) => {
    const order: string[] = [];
    JSON.parse(body.toString(), (key, value: unknown) => {
      order.push(key);
      return value;
    });
    return order;
  });
  expect(keys[1]).not.toEqual(keys[0]);
  expect(keys[1]?.toSorted()).toEqual(keys[0]?.toSorted());
  expect(keys[2]).toEqual(keys[1]);
  type Envelope = { data: { object: { items: object[] } } };
  const [first, second] = endpoint.received.map(({ body }) => JSON.parse(body.toString()) as Envelope);
  const deepKeys = (envelope?: Envelope) =>
    [envelope, envelope?.data.object, envelope?.data.object.items[0]].map((value) =>
      Object.keys(value ?? {}),
    );
  expect(deepKeys(second)).toEqual(deepKeys(first).map((own) => own.toReversed()));
});

describe("event_id_across_endpoints", () => {
  test.each<[Choice<"event_id_across_endpoints">, number]>([
    ["same", 1],
    ["distinct", 3],
  ])("%s: three endpoints see %i ids of one event, each the same on every attempt", async (choice, ids) => {
    const endpoints = [await startEndpoint(500), await startEndpoint(500), await startEndpoint(500)];
    const readings = readingsWith({ event_id_across_endpoints: choice });
    const simulator = openSimulator({ clock: "skip", readings });
    for (const { url } of endpoints) register(simulator, url);
    emit(simulator);
    await simulator.settled();
    const seen = endpoints.map(
      ({ received }) =>
        new Set(received.map(({ body }) => (JSON.parse(body.toString()) as { id: string }).id)),
    );
    for (const own of seen) expect(own.size).toBe(1);
    const all = seen.flatMap((own) => [...own]);
    expect(new Set(all).size).toBe(ids);
    for (const id of all) expect(id).toMatch(/^evt_[0-9a-f]{32}$/);
  });
});

describe("test_event_ignores_selection", () => {
  test.each<[Choice<"test_event_ignores_selection">, string[], number]>([
    ["yes", [], 1],
    ["yes", ["order.created"], 1],
    ["yes", ["call.completed"], 1],
    ["no", [], 1],
    ["no", ["order.created"], 0],
    ["no", ["call.completed"], 1],
  ])("%s, with %j selected: %i test events arrive", async (choice, eventTypes, count) => {
    const endpoint = await startEndpoint();
    const readings = readingsWith({ test_event_ignores_selection: choice });
    const simulator = openSimulator({ clock: "skip", readings });
    const result = simulator.endpoints.test(register(simulator, endpoint.url, { eventTypes }).id);
    await simulator.settled();
    expect(result.ok).toBe(count === 1);
    expect(endpoint.received).toHaveLength(count);
  });
});

describe("emission_order", () => {
  test.each<[Choice<"emission_order">, string[]]>([
    ["completed_first", ["call.completed", "voicemail.created"]],
    ["completed_last", ["voicemail.created", "call.completed"]],
  ])("%s: what the business does goes out as %j", async (choice, types) => {
    const simulator = openSimulator({ readings: readingsWith({ emission_order: choice }) });
    const result = simulator.events.live({ type: "voicemail.created" });
    expect(result.ok && result.emitted.map(({ event }) => event.type)).toEqual(types);
    const [newest, before] = simulator.events.page({ limit: 2 }).events;
    expect([before?.type, newest?.type]).toEqual(types);
    const completed = simulator.events.live({ type: "call.completed" });
    expect(completed.ok && completed.emitted.map(({ event }) => event.type)).toEqual(["call.completed"]);
  });
});

describe("signature_extra_keys", () => {
  test.each<[Choice<"signature_extra_keys">, RegExp]>([
    ["none", /^t=\d+,v1=[0-9a-f]{64}$/],
    ["present", /^t=\d+,v1=[0-9a-f]{64},v0=0{64},kid=1$/],
  ])("%s", async (choice, form) => {
    const endpoint = await startEndpoint();
    const readings = readingsWith({ signature_extra_keys: choice });
    const simulator = openSimulator({ clock: "skip", readings });
    const { secret } = register(simulator, endpoint.url);
    emitOne(simulator);
    await simulator.settled();
    const [received] = endpoint.received;
    expect(received?.signature).toMatch(form);
    const { signature = "", body = Buffer.alloc(0), t = 0 } = received ?? {};
    expect(verify({ headers: [signature], body, secrets: [secret], nowSeconds: t }).ok).toBe(true);
  });
});
