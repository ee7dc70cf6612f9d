import { describe, expect, test } from "vitest";
import { EVENT_TYPES } from "../../shared/events.ts";
import { verify } from "../../shared/signature.ts";
import { VERSION } from "../../simulator/processes/version.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { openDashboard } from "./open-dashboard.ts";

const SECRET = "whsec_0123456789abcdef0123456789abcdef";

async function openControl() {
  const { url, simulator } = await openDashboard({ calls: 0 });
  return { origin: new URL(url).origin, simulator };
}

describe("the signature of an attempt", () => {
  async function signatureWith(faults: string[]) {
    const { origin, simulator } = await openControl();
    const receiver = await startEndpoint(200);
    const { body: endpoint } = await control<{ id: string; secret: string }>(origin, "POST", "/endpoints", {
      url: receiver.url,
    });
    const { body } = await control<{ deliveries: { id: string }[] }>(origin, "POST", "/events", {
      type: "call.completed",
      faults,
    });
    await simulator.settled();
    const path = `/deliveries/${body.deliveries[0]?.id}`;
    const show = async () => {
      const { body: delivery } = await control<{ attempts: { signature: Record<string, unknown> }[] }>(
        origin,
        "GET",
        path,
      );
      return delivery;
    };
    const delivery = await show();
    return { origin, endpoint, receiver, show, delivery, signature: delivery.attempts[0]?.signature };
  }

  test("is taken apart and matches", async () => {
    const { signature, receiver } = await signatureWith([]);
    const [request] = receiver.received;
    expect(signature).toMatchObject({
      header: request?.signature,
      t: String(request?.t),
      problem: null,
      signed_bytes: `${request?.t}.`.length + Number(request?.body.byteLength),
      matches: true,
      age_at_send_seconds: 0,
      tolerance_seconds: 300,
      verdict: "accepted",
    });
    expect(signature?.["signed_string_start"]).toBe(
      `${request?.t}.${request?.body.toString().slice(0, 120)}`,
    );
  });

  test.each([
    ["tampered-body", { matches: false, problem: null, verdict: "no_match" }],
    ["bad-signature", { matches: false, problem: null, verdict: "no_match" }],
    ["stale-timestamp", { matches: true, age_at_send_seconds: 600, verdict: "timestamp_too_old" }],
    ["future-timestamp", { matches: true, age_at_send_seconds: -600, verdict: "timestamp_too_new" }],
    ["missing-parts", { matches: null, problem: "signature_missing", verdict: "signature_missing" }],
  ])("with %s says what a receiver says", async (fault, expected) => {
    const { signature } = await signatureWith([fault]);
    expect(signature).toMatchObject(expected);
  });

  test("never shows the secret, and cannot be checked once the endpoint is removed", async () => {
    const { origin, endpoint, delivery, show } = await signatureWith([]);
    expect(JSON.stringify(delivery)).not.toContain(endpoint.secret);
    await control(origin, "DELETE", `/endpoints/${endpoint.id}`);
    expect((await show()).attempts[0]?.signature).toMatchObject({
      matches: null,
      verdict: null,
      problem: null,
    });
  });
});

test("event types come with the schema of their object, an example, and when they are emitted", async () => {
  const { origin } = await openControl();
  const { body } = await control<{
    data: { type: string; schema: { properties: object }; example: object }[];
  }>(origin, "GET", "/event-types");
  expect(body.data.map(({ type }) => type)).toEqual(EVENT_TYPES);
  for (const { schema, example } of body.data) {
    for (const name of Object.keys(schema.properties)) expect(example).toHaveProperty(name);
  }
});

test("a URL can be checked without being registered", async () => {
  const { origin } = await openControl();
  const check = async (url: string) => (await control(origin, "POST", "/endpoints/check", { url })).body;
  expect(await check("http://localhost:3000/webhooks")).toEqual({
    ok: true,
    url: "http://localhost:3000/webhooks",
    is_listening: expect.any(Boolean),
  });
  const receiver = await startEndpoint(200);
  expect(await check(receiver.url)).toMatchObject({ ok: true, is_listening: true });
  await receiver.close();
  expect(await check(receiver.url)).toMatchObject({ ok: true, is_listening: false });
  expect(await check("https://example.com/hook")).toMatchObject({ ok: true, is_listening: null });
  expect(await check("http://example.com/")).toMatchObject({ ok: false });
  expect(await check("https://user@example.com/")).toMatchObject({ ok: false });
  expect((await control<{ data: unknown[] }>(origin, "GET", "/endpoints")).body.data).toEqual([]);
});

test("every failure of an endpoint is sent to watchers", async () => {
  const { origin, simulator } = await openControl();
  const receiver = await startEndpoint(500);
  await control(origin, "POST", "/endpoints", { url: receiver.url });
  const changes: string[] = [];
  simulator.journal.watch(({ kind }) => changes.push(kind));
  await control(origin, "POST", "/events", { type: "call.completed" });
  await control(origin, "POST", "/clock/advance", { until: "idle" });
  expect(changes.filter((kind) => kind === "endpoint.changed")).toHaveLength(6);
});

describe("what was sent, and what would be sent now", () => {
  async function failedOnce(faults: string[] = []) {
    const { origin, simulator } = await openControl();
    const receiver = await startEndpoint(500);
    await control(origin, "POST", "/endpoints", { url: `${receiver.url}?a=1`, secret: SECRET });
    await control(origin, "POST", "/events", { type: "call.completed", faults });
    await simulator.settled();
    const { body } = await control<{ data: { id: string }[] }>(origin, "GET", "/deliveries");
    return { origin, receiver, path: `/deliveries/${body.data[0]?.id}` };
  }

  test("the request line and every header are shown as they went out", async () => {
    const { origin, receiver, path } = await failedOnce();
    const { body } = await control<{ attempts: { request: { line: string; headers: object } }[] }>(
      origin,
      "GET",
      path,
    );
    const [attempt] = body.attempts;
    expect(attempt?.request.line).toBe("POST /webhooks?a=1 HTTP/1.1");
    expect(attempt?.request.headers).toEqual(receiver.received[0]?.headers);
  });

  test.each([
    ["honest", [], true],
    ["forged", ["bad-signature"], false],
  ])("an %s attempt is signed afresh, in the same way", async (_name, faults, isAccepted) => {
    const { origin, receiver, path } = await failedOnce(faults);
    const { body } = await control<{ url: string; headers: Record<string, string>; body: string }>(
      origin,
      "POST",
      `${path}/sign`,
      { attempt: 1 },
    );
    expect(body.body).toBe(receiver.received[0]?.body.toString());
    const result = verify({
      headers: [body.headers["x-service-signature"] ?? ""],
      body: Buffer.from(body.body),
      secrets: [SECRET],
      nowSeconds: Math.floor(Date.now() / 1000),
    });
    expect(result.ok).toBe(isAccepted);
    expect((await control(origin, "POST", `${path}/sign`, { attempt: 2 })).status).toBe(404);
  });
});

test("commands are shown as they are typed here", async () => {
  const { origin } = await openControl();
  expect((await control(origin, "GET", "/about")).body).toEqual({
    object: "about",
    version: VERSION,
    command: "voice-agent-simulator",
    is_observed: false,
    operator_page: null,
    event_types: EVENT_TYPES,
  });
});

test("answers are never guessed at or kept by a browser", async () => {
  const { origin } = await openControl();
  const { headers } = await control(origin, "GET", "/endpoints");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("access-control-allow-origin")).toBeNull();
});

test("several lists come in one answer, each with its own status, and nothing but lists can be asked for so", async () => {
  const { origin, simulator } = await openControl();
  const receiver = await startEndpoint(503);
  await control(origin, "POST", "/endpoints", { url: receiver.url });
  await control(origin, "POST", "/events", { type: "order.created", count: 2 });
  await simulator.settled();
  const many = (...paths: string[]) =>
    control<{ data: { status: number; body: Record<string, unknown> }[] }>(
      origin,
      "GET",
      `/many?${new URLSearchParams(paths.map((path): [string, string] => ["path", path])).toString()}`,
    );
  const { body } = await many(
    "/about",
    "/deliveries?limit=1&type=order.created",
    "/deliveries?state=none",
    "/counts",
  );
  const [about, deliveries, refused, counts] = body.data;
  expect(about?.body).toEqual((await control(origin, "GET", "/about")).body);
  expect(deliveries?.body["data"]).toHaveLength(1);
  expect(refused).toMatchObject({ status: 400, body: { error: "invalid_request" } });
  expect(counts?.body).toMatchObject({
    total: 2,
    endings: [{ state: "attempting", verdict: "not", cause: "unavailable", count: 2 }],
  });
  for (const path of ["/stream", "/many?path=/about", "/verification", "/clock/../stream"])
    expect((await many(path)).status).toBe(400);
});

test("a resend of deliveries by their ids counts and sends just those", async () => {
  const { origin, simulator } = await openControl();
  const receiver = await startEndpoint(200);
  await control(origin, "POST", "/endpoints", { url: receiver.url });
  await control(origin, "POST", "/events", { type: "order.created", count: 3 });
  await simulator.settled();
  const [first, , third] = simulator.deliveries.page({ limit: 3 }).deliveries.map(({ id }) => id);
  const ids = [first, third, "dlv_unknown"];
  const counted = await control(origin, "POST", "/deliveries/resend", { ids, dry_run: true });
  expect(counted.body["total"]).toBe(2);
  await control(origin, "POST", "/deliveries/resend", { ids });
  await receiver.until(5);
  await simulator.jobs.ended();
  const again = simulator.deliveries.page({ limit: 5 }).deliveries.map(({ resendOf }) => resendOf);
  expect(new Set(again.filter(Boolean))).toEqual(new Set([first, third]));
});
