import { expect, test } from "vitest";
import { createLog, createRequestLog, type AnsweredRequest } from "../../../receiver/operations/log.ts";
import { standingClock } from "../helpers/clock.ts";

function recorded(secrets: string[] = []) {
  const texts: string[] = [];
  const log = createLog({ level: "info", secrets, destination: { write: (text) => void texts.push(text) } });
  const clock = standingClock();
  const logRequest = createRequestLog({ log, clock, clean: (text) => text.replace("maria", "[redacted]") });
  const lines = (): unknown[] => texts.map((text): unknown => JSON.parse(text));
  return { log, clock, logRequest, lines, texts };
}

test("a line is JSON with its level as a word and its time", () => {
  const { log, lines } = recorded();
  log.child({ event_id: "evt_1" }).info({ attempt: 1 }, "handled");
  const time: unknown = expect.stringMatching(/^\d{4}-.*Z$/);
  expect(lines()).toEqual([{ level: "info", time, event_id: "evt_1", attempt: 1, msg: "handled" }]);
});

test("fields with a personal or secret name are redacted at any depth, in every spelling, and others are not", () => {
  const { log, lines, texts } = recorded();
  const object = { phone: "+12125550123", transcript: "Hi", duration_sec: 3, customer: { name: "Maria" } };
  const endless: Record<string, unknown> = { a: 1 };
  endless["self"] = endless;
  log.child({ handler: "h" }).info({
    event: { id: "evt_1", data: { object } },
    customerName: "Maria",
    "api-key": "k",
    headers: { Authorization: "Bearer x", "x-service-signature": "t=1", host: "h" },
    guests: [{ email: "a@b.c", seats: 2 }],
    phone_numbers: 12_125_550_123,
    has: { phone: null, email: true },
    at: new Date(0),
    endless,
  });
  const hidden = "[redacted]";
  expect(lines()[0]).toMatchObject({
    event: {
      id: "evt_1",
      data: { object: { phone: hidden, transcript: hidden, duration_sec: 3, customer: hidden } },
    },
    customerName: hidden,
    "api-key": hidden,
    headers: { Authorization: hidden, "x-service-signature": hidden, host: "h" },
    guests: [{ email: hidden, seats: 2 }],
    phone_numbers: hidden,
    has: { phone: null, email: true },
    at: "1970-01-01T00:00:00.000Z",
  });
  expect(texts[0]?.length).toBeLessThan(2_000);
  log.info({ apiKey: "k" });
  expect(lines()[1]).toMatchObject({ apiKey: hidden });
});

test("an error is logged with its name, masked message and place, without its other properties", () => {
  const { log, lines, texts } = recorded(["whsec_0123456789"]);
  const error = new TypeError("no +12125550123, whsec_0123456789");
  log.error({ err: Object.assign(error, { request: { body: "Maria" } }) }, "failed");
  log.error({ err: "no +12125550123" }, "failed");
  expect(lines()[1]).toMatchObject({ err: { type: "string", message: "no [redacted]" } });
  const stack: unknown = expect.stringMatching(/^ {4}at .*log\.test\.ts/);
  expect(lines()[0]).toMatchObject({
    err: { type: "TypeError", message: "no [redacted], [redacted]", stack },
  });
  log.error({ err: new Error(`2125550123 ${"x".repeat(50_000_000)}`) });
  expect(texts.join("")).not.toMatch(/Maria|2125550123|whsec/);
  expect(texts[2]?.length).toBeLessThan(10_000);
});

test("no line contains commands for a terminal or a build server", () => {
  const { log, texts, lines } = recorded();
  const path = "/\u001B[2J\u202E##vso[x]\u009B";
  log.info({ path });
  expect(texts[0]).toMatch(/^[\x20-\x7e]+\n$/);
  expect(texts[0]).not.toContain("##vso[");
  expect(lines()[0]).toMatchObject({ path });
});

test("a request has a flat line: refusals are warnings, our failures errors", () => {
  const { logRequest, lines } = recorded();
  const request = { method: "POST", path: "/webhooks", id: "r1", status: 200, durationMs: 1.26 };
  const event = { id: "evt_1", type: "call.completed", secretIndex: 0 };
  const differs = { storedSha256: "aa", receivedSha256: "bb" };
  const requests: Partial<AnsweredRequest>[] = [
    { receipt: { kind: "stored", ...event } },
    { receipt: { kind: "duplicate", ...event, type: "maria.called", differs } },
    { status: 401, receipt: { kind: "invalid_signature", reason: "no_match" } },
    { status: 503, receipt: { kind: "unavailable", reason: "full", detail: "no room" } },
    { status: 413, refused: "too_large" },
    { status: 400, receipt: { kind: "invalid_json", message: "The body is not JSON." } },
    { status: 404, path: `/maria${"x".repeat(300)}` },
  ];
  for (const one of requests) logRequest({ ...request, ...one });
  const common = { method: "POST", path: "/webhooks", request_id: "r1", duration_ms: 1.3, msg: "answered" };
  const stored = { ...common, level: "info", status: 200, event_id: "evt_1" };
  const refused = { ...common, level: "warn" };
  expect(lines()).toMatchObject([
    { ...stored, result: "stored", type: "call.completed" },
    { ...stored, result: "duplicate", type: "other", stored_sha256: "aa", received_sha256: "bb" },
    { ...refused, status: 401, result: "invalid_signature", reason: "no_match" },
    { ...common, level: "error", status: 503, result: "unavailable", reason: "full", detail: "no room" },
    { ...refused, status: 413, result: "refused", reason: "too_large" },
    { ...refused, status: 400, result: "invalid_json", reason: "The body is not JSON." },
    { ...refused, status: 404, path: `/[redacted]${"x".repeat(194)}` },
  ]);
});

test("each second up to ten refused requests per reason are logged, and every accepted one", async () => {
  const { logRequest, lines, clock } = recorded();
  const ask = (status: number, refused?: string): void => {
    for (let count = 0; count < 50; count += 1) logRequest({ method: "POST", path: "/", status, refused });
  };
  ask(401, "no_match");
  ask(401, "malformed");
  expect(lines()).toHaveLength(20);
  ask(200);
  expect(lines()).toHaveLength(70);
  await clock.pass(1_000);
  ask(401, "no_match");
  expect(lines()).toHaveLength(80);
});
