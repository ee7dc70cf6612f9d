import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { SIGNATURE_TOLERANCE_SECONDS, verify } from "../../../shared/signature.ts";
import { FAULT_NAMES } from "../../../simulator/domain/faults.ts";
import { startSimulator, type Envelope, type EventType, type FaultText } from "../../../simulator/index.ts";
import { listen } from "../../helpers/listen.ts";

const secret = "whsec_of_the_faults_test";

/** The bytes received on one connection. */
type Connection = {
  bytes: Buffer;
  chunks: number;
  startedMs: number;
  endedMs: number;
  error: string | undefined;
  body: () => Buffer;
  signature: () => string;
};

/** An endpoint below HTTP that sees the exact bytes. It answers 200 once a whole request has arrived. */
async function startRawEndpoint() {
  const connections: Connection[] = [];
  const server = createServer((socket) => {
    const connection: Connection = {
      bytes: Buffer.alloc(0),
      chunks: 0,
      startedMs: performance.now(),
      endedMs: Number.NaN,
      error: undefined,
      body: () => connection.bytes.subarray(connection.bytes.indexOf("\r\n\r\n") + 4),
      signature: () => /x-service-signature: (.*)\r\n/i.exec(connection.bytes.toString("latin1"))?.[1] ?? "",
    };
    connections.push(connection);
    socket.on("data", (chunk) => {
      connection.bytes = Buffer.concat([connection.bytes, chunk]);
      connection.chunks += 1;
      const length = Number(/content-length: (\d+)/i.exec(connection.bytes.toString("latin1"))?.[1]);
      if (connection.body().byteLength < length) return;
      connection.endedMs = performance.now();
      socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    });
    socket.on("error", (error: NodeJS.ErrnoException) => (connection.error = error.code));
  });
  const { url } = await listen(server);
  return { url: `${url}/webhooks`, connections };
}

/** Sends one event with one fault. */
async function send(fault: FaultText | undefined, type: EventType = "call.completed") {
  const simulator = await startSimulator({ seed: 3, calls: 0 });
  onTestFinished(() => simulator.close());
  const endpoint = await startRawEndpoint();
  simulator.endpoints.add({ url: endpoint.url, secret, faults: fault === undefined ? [] : [fault] });
  const { events, deliveries } = await simulator.emit(type);
  const [first] = endpoint.connections;
  return { simulator, endpoint, event: events[0], deliveries, first };
}

function verdict(connection: Connection | undefined) {
  if (connection === undefined) throw new Error("Nothing was sent.");
  return verify({
    headers: [connection.signature()],
    body: connection.body(),
    secrets: [secret],
    nowSeconds: Math.floor(Date.now() / 1000),
  });
}

function envelopeOf(connection: Connection | undefined): Envelope {
  return JSON.parse(connection?.body().toString() ?? "") as Envelope;
}

test("without a fault, one genuine request carries the event", async () => {
  const { endpoint, event, first, deliveries } = await send(undefined);
  expect(endpoint.connections).toHaveLength(1);
  expect(verdict(first)).toMatchObject({ ok: true });
  expect(envelopeOf(first)).toEqual(event);
  expect(deliveries).toMatchObject([{ state: "delivered" }]);
});

test("duplicate: the same event a second time, a second later", async () => {
  const { simulator, endpoint, first } = await send("duplicate");
  expect(endpoint.connections).toHaveLength(1);
  await simulator.clock.advance("1s");
  const [, second] = endpoint.connections;
  expect(second?.body()).toEqual(first?.body());
  expect(verdict(second)).toMatchObject({ ok: true });
});

test("duplicate-concurrently: the same event twice at the same time", async () => {
  const { endpoint } = await send("duplicate-concurrently");
  const [first, second] = endpoint.connections;
  expect(endpoint.connections).toHaveLength(2);
  expect(second?.body()).toEqual(first?.body());
});

test("delay: the first attempt is due after 30 s of schedule time", async () => {
  const { simulator, endpoint } = await send("delay");
  await simulator.clock.advance("29s");
  expect(endpoint.connections).toHaveLength(0);
  await simulator.clock.advance("1s");
  expect(endpoint.connections).toHaveLength(1);
});

test("reorder: of ten events, later ones overtake earlier ones, and none is lost", async () => {
  const { simulator, endpoint } = await send("reorder");
  const { events } = await simulator.emit("call.completed", { count: 10 });
  await simulator.clock.run();
  const sent = new Set(events.map(({ id }) => id));
  const arrived = endpoint.connections
    .map((connection) => envelopeOf(connection).id)
    .filter((id) => sent.has(id));
  expect(arrived).toHaveLength(10);
  expect(arrived).not.toEqual([...sent]);
});

test("unknown-type: a genuine event of a type that is not documented", async () => {
  const { first, event } = await send("unknown-type");
  expect(verdict(first)).toMatchObject({ ok: true });
  expect(envelopeOf(first)).toEqual({ ...event, type: "call.summarized" });
});

test("unknown-fields: a genuine event with more fields, in the envelope and in the object", async () => {
  const { first, event } = await send("unknown-fields");
  expect(verdict(first)).toMatchObject({ ok: true });
  const envelope = envelopeOf(first);
  expect(envelope).toMatchObject({ ...event });
  expect(Object.keys(envelope).length).toBeGreaterThan(Object.keys(event ?? {}).length);
  expect(Object.keys(envelope.data.object).length).toBeGreaterThan(
    Object.keys(event?.data.object ?? {}).length,
  );
});

test.each(["order.created", "booking.created"] as const)(
  "minimal-objects: %s with nothing but `object`",
  async (type) => {
    const { first } = await send("minimal-objects", type);
    expect(verdict(first)).toMatchObject({ ok: true });
    expect(envelopeOf(first).data).toEqual({ object: { object: type.split(".")[0] } });
  },
);

test("minimal-objects leaves a call unchanged, since the specification states its fields", async () => {
  const { first, event } = await send("minimal-objects");
  expect(envelopeOf(first)).toEqual(event);
});

test("tampered-body: valid JSON that is not what was signed", async () => {
  const { first, event } = await send("tampered-body");
  expect(verdict(first)).toMatchObject({ ok: false, reason: "no_match" });
  expect(envelopeOf(first)).not.toEqual(event);
});

test("bad-signature: well-formed, fresh, made with another secret", async () => {
  const { first, event } = await send("bad-signature");
  expect(verdict(first)).toMatchObject({ ok: false, reason: "no_match" });
  expect(envelopeOf(first)).toEqual(event);
});

test.each([
  ["stale-timestamp", "timestamp_too_old", -1],
  ["future-timestamp", "timestamp_too_new", 1],
] as const)(
  "%s: genuine except for t, which is far outside the tolerance",
  async (fault, reason, direction) => {
    const { first } = await send(fault);
    expect(verdict(first)).toMatchObject({ ok: false, reason });
    const t = Number(/t=(\d+)/.exec(first?.signature() ?? "")?.[1]);
    const shiftSeconds = (t - Date.now() / 1000) * direction;
    expect(shiftSeconds).toBeGreaterThan(SIGNATURE_TOLERANCE_SECONDS + 100);
    const signed = {
      headers: [first?.signature() ?? ""],
      body: first?.body() ?? Buffer.alloc(0),
      secrets: [secret],
    };
    expect(verify({ ...signed, nowSeconds: t })).toMatchObject({ ok: true });
  },
);

test("missing-parts: the header has no v1", async () => {
  const { first } = await send("missing-parts");
  expect(first?.signature()).toMatch(/^t=\d+$/);
});

test.each([
  ["drop-answer", "closed"],
  ["time-out", "timeout"],
] as const)("%s: the receiver has answered 200, and the service tries again", async (fault, error) => {
  const { simulator, endpoint, first, deliveries } = await send(`${fault}:1`);
  expect(verdict(first)).toMatchObject({ ok: true });
  expect(deliveries).toMatchObject([{ state: "attempting", attempts: [{ error, httpStatus: null }] }]);
  await simulator.clock.advance("1m");
  expect(endpoint.connections[1]?.body()).toEqual(first?.body());
  expect(simulator.deliveries.list()).toMatchObject([{ state: "delivered" }]);
});

test("slow-body: the whole body arrives, in many pieces over seconds, and is delivered", async () => {
  const { first, event, deliveries } = await send("slow-body");
  expect(envelopeOf(first)).toEqual(event);
  expect(verdict(first)).toMatchObject({ ok: true });
  expect(first?.chunks).toBeGreaterThan(10);
  expect((first?.endedMs ?? 0) - (first?.startedMs ?? 0)).toBeGreaterThan(2_500);
  expect(deliveries).toMatchObject([{ state: "delivered" }]);
});

test("reset-mid-body: half of the body, then a reset, and a whole one at the next attempt", async () => {
  const { simulator, endpoint, first, event, deliveries } = await send("reset-mid-body:1");
  const length = Number(/content-length: (\d+)/i.exec(first?.bytes.toString("latin1") ?? "")?.[1]);
  expect(first?.body().byteLength).toBeGreaterThan(0);
  expect(first?.body().byteLength).toBeLessThan(length);
  await expect.poll(() => first?.error).toBe("ECONNRESET");
  expect(deliveries).toMatchObject([{ state: "attempting", attempts: [{ httpStatus: null }] }]);
  await simulator.clock.advance("1m");
  expect(envelopeOf(endpoint.connections[1])).toEqual(event);
});

test("next-version: the envelope says v2, and is signed", async () => {
  const { first } = await send("next-version");
  expect(JSON.parse(first?.body().toString() ?? "")).toMatchObject({ api_version: "v2" });
});

test("large-event: 900 KiB and no more than 1 MiB", async () => {
  const { first, deliveries } = await send("large-event");
  const bytes = first?.body().byteLength ?? 0;
  expect(bytes).toBeGreaterThan(900 * 1024);
  expect(bytes).toBeLessThan(1024 * 1024);
  expect(deliveries[0]?.state).toBe("delivered");
});

test("every fault has its test here", async () => {
  const { readFileSync } = await import("node:fs");
  const source = readFileSync(import.meta.filename, "utf8");
  for (const name of FAULT_NAMES) expect(source).toContain(`"${name}`);
});
