import { expect, test } from "vitest";
import { createLog, type Log } from "../../../receiver/operations/log.ts";
import { createRequestLog, type AnsweredRequest } from "../../../receiver/operations/request-log.ts";
import { standingClock } from "../helpers/clock.ts";

type Line = Record<string, unknown>;

function recorded(level = "debug", secrets: string[] = []): { log: Log; lines: Line[]; texts: string[] } {
  const texts: string[] = [];
  const lines: Line[] = [];
  const write = (text: string): void => {
    texts.push(text);
    lines.push(JSON.parse(text) as Line);
  };
  return { log: createLog({ level, secrets, destination: { write } }), lines, texts };
}

test("a line is JSON with its level as a word and its time", () => {
  const { log, lines } = recorded();
  log.child({ event_id: "evt_1" }).info({ attempt: 1 }, "handled");
  expect(lines).toEqual([
    { level: "info", time: expect.stringMatching(/Z$/), event_id: "evt_1", attempt: 1, msg: "handled" },
  ]);
});

test("fields with a personal or secret name are redacted at any depth, in every spelling, and others are not", () => {
  const { log, lines } = recorded();
  const object = { phone: "+12125550123", transcript: "Hi", duration_sec: 3, customer: { name: "Maria" } };
  log.child({ handler: "h" }).info({
    event: { id: "evt_1", data: { object } },
    customerName: "Maria",
    "api-key": "k",
    headers: { Authorization: "Bearer x", "x-service-signature": "t=1", host: "h" },
    guests: [{ email: "a@b.c", seats: 2 }],
    phone_numbers: 12_125_550_123,
    has: { phone: null, email: true },
    at: new Date(0),
  });
  expect(lines[0]).toMatchObject({
    event: {
      id: "evt_1",
      data: {
        object: { phone: "[redacted]", transcript: "[redacted]", duration_sec: 3, customer: "[redacted]" },
      },
    },
    customerName: "[redacted]",
    "api-key": "[redacted]",
    headers: { Authorization: "[redacted]", "x-service-signature": "[redacted]", host: "h" },
    guests: [{ email: "[redacted]", seats: 2 }],
    phone_numbers: "[redacted]",
    has: { phone: null, email: true },
    at: "1970-01-01T00:00:00.000Z",
  });
});

test("an object without end is logged as far as eight levels", () => {
  const { log, texts } = recorded();
  const endless: Line = { a: 1 };
  endless["self"] = endless;
  log.info({ endless });
  expect(texts[0]?.length).toBeLessThan(1_000);
});

test("an error is logged by its name, its masked message and its place, without what hangs on it", () => {
  const { log, lines, texts } = recorded("info", ["whsec_0123456789"]);
  const error = Object.assign(new TypeError("no +12125550123, whsec_0123456789"), {
    request: { body: "Maria" },
  });
  log.error({ err: error }, "failed");
  expect(lines[0]).toMatchObject({
    err: {
      type: "TypeError",
      message: "no [redacted], [redacted]",
      stack: expect.stringMatching(/^ {4}at .*log\.test\.ts/),
    },
  });
  expect(texts[0]).not.toMatch(/Maria|2125550123|whsec/);
  log.error({ err: new Error("x".repeat(50_000_000)) });
  expect(texts[1]?.length).toBeLessThan(10_000);
});

test("nothing in a line steers a terminal or a build server", () => {
  const { log, texts, lines } = recorded();
  log.info({ path: "/\u001B[2J\u202E##vso[x]\u009B" });
  expect(texts[0]).toMatch(/^[\x20-\x7e]+\n$/);
  expect(texts[0]).not.toContain("##vso[");
  expect(lines[0]).toMatchObject({ path: "/\u001B[2J\u202E##vso[x]\u009B" });
});

test("a request has a flat line: refusals are warnings, our failures errors, probes debug lines", () => {
  const { log, lines } = recorded();
  const logRequest = createRequestLog({ log, clock: standingClock(), clean: (text) => text });
  const request: AnsweredRequest = {
    method: "POST",
    path: "/webhooks",
    id: "r1",
    status: 200,
    durationMs: 1.26,
  };
  const event = { id: "evt_1", type: "call.completed", secretIndex: 0 };
  const differs = { storedSha256: "aa", receivedSha256: "bb" };
  logRequest({ ...request, receipt: { kind: "stored", ...event } });
  logRequest({ ...request, receipt: { kind: "duplicate", ...event, type: "maria.called", differs } });
  logRequest({ ...request, status: 401, receipt: { kind: "invalid_signature", reason: "no_match" } });
  logRequest({
    ...request,
    status: 503,
    receipt: { kind: "unavailable", reason: "full", detail: "no room" },
  });
  logRequest({ ...request, status: 413, refused: "entity.too.large" });
  logRequest({
    ...request,
    status: 400,
    receipt: { kind: "invalid_json", message: "The body is not JSON." },
  });
  logRequest({ method: "GET", path: "/readyz", status: 200 });
  const common = { method: "POST", path: "/webhooks", request_id: "r1", duration_ms: 1.3, msg: "answered" };
  const stored = { ...common, level: "info", status: 200, event_id: "evt_1" };
  expect(lines).toMatchObject([
    { ...stored, result: "stored", type: "call.completed" },
    { ...stored, result: "duplicate", type: "other", stored_sha256: "aa", received_sha256: "bb" },
    { ...common, level: "warn", status: 401, result: "invalid_signature", reason: "no_match" },
    { ...common, level: "error", status: 503, result: "unavailable", reason: "full", detail: "no room" },
    { ...common, level: "warn", status: 413, result: "refused", reason: "entity.too.large" },
    { ...common, level: "warn", status: 400, result: "invalid_json", reason: "The body is not JSON." },
    { level: "debug", path: "/readyz", status: 200 },
  ]);
});

test("ten refused requests of a reason have a line in each second, and every accepted one", async () => {
  const { log, lines } = recorded();
  const clock = standingClock();
  const logRequest = createRequestLog({ log, clock, clean: (text) => text });
  const refuse = (refused: string): void => {
    for (let count = 0; count < 50; count += 1)
      logRequest({ method: "POST", path: "/", status: 401, refused });
  };
  refuse("no_match");
  refuse("malformed");
  expect(lines).toHaveLength(20);
  for (let count = 0; count < 50; count += 1) logRequest({ method: "POST", path: "/", status: 200 });
  expect(lines).toHaveLength(70);
  await clock.pass(1_000);
  refuse("no_match");
  expect(lines).toHaveLength(80);
});
