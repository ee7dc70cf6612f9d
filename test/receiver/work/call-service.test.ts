import { createServer, type RequestListener } from "node:http";
import { expect, test } from "vitest";
import { callService } from "../../../receiver/work/call-service.ts";
import { defineHandler } from "../../../receiver/work/handler.ts";
import { sampleEnvelope } from "../../../shared/samples.ts";
import { listen } from "../../helpers/listen.ts";
import { bench } from "../helpers/bench.ts";

const NOW = "2026-03-01T12:00:00Z";

/** The outcome of an attempt whose handler calls a service with this answer. */
async function attempt(answer: RequestListener, timeoutMs = 5_000, headers: Record<string, string> = {}) {
  const { port } = await listen(createServer(answer));
  const url = `http://127.0.0.1:${String(port)}/orders?token=secret`;
  const handler = defineHandler({
    name: "till",
    type: "order.created",
    timeoutSeconds: 20,
    handle: async (_event, context) => {
      const { json, text, status } = await callService(
        url,
        { method: "POST", body: "{}", headers },
        { ...context, timeoutMs },
      );
      context.log.info({ json, size: text.length, status }, "called");
    },
  });
  const { run, logs } = await bench(handler, { now: NOW });
  const event = sampleEnvelope("order.created");
  return { ...(await run(event)), logs, id: event.id };
}

const answered = (status: number, headers: Record<string, string>, body: string): RequestListener => {
  return (_request, response) => void response.writeHead(status, headers).end(body);
};

test.each([
  { what: "200 with JSON", body: '{"ticket":7}', json: { ticket: 7 } },
  { what: "200 with a text", body: "ok", json: undefined },
  { what: "200 with nothing", body: "", json: undefined },
])("a job is done by $what, which the handler gets", async ({ body, json }) => {
  const { outcome, logs } = await attempt(answered(200, {}, body));
  expect(outcome).toBe("done");
  expect(logs).toMatchObject([{ ...(json && { json }), size: body.length, status: 200 }]);
});

test.each([
  { status: 429, after: "7", seconds: 7 },
  { status: 429, after: "Sun, 01 Mar 2026 12:01:00 GMT", seconds: 60 },
  { status: 503, after: "120", seconds: 120 },
  // A date in the past asks for the next attempt as soon as possible.
  { status: 503, after: "Sun, 01 Mar 2026 11:00:00 GMT", seconds: 1 },
])(
  "a job is deferred by $status with Retry-After: $after, with any body",
  async ({ status, after, seconds }) => {
    const result = await attempt(answered(status, { "retry-after": after }, "slow down"));
    expect(result).toMatchObject({ outcome: "later", nextAttemptInSeconds: seconds });
    expect(result.error).toContain(`was answered ${String(status)}: slow down`);
  },
);

test.each([
  { status: 429, headers: {}, outcome: "failed" },
  { status: 503, headers: { "retry-after": "soon" }, outcome: "failed" },
  { status: 500, headers: { "retry-after": "7" }, outcome: "failed" },
  { status: 408, headers: {}, outcome: "failed" },
  { status: 425, headers: {}, outcome: "failed" },
  { status: 304, headers: {}, outcome: "failed" },
  { status: 400, headers: { "retry-after": "7" }, outcome: "dead" },
  { status: 404, headers: {}, outcome: "dead" },
  { status: 422, headers: {}, outcome: "dead" },
])(
  "$status with the headers $headers ends an attempt as $outcome, with the service's answer",
  async ({ status, headers, outcome }) => {
    const result = await attempt(answered(status, headers, status === 304 ? "" : "no such order"));
    expect(result.outcome).toBe(outcome);
    expect(result.error).toMatch(
      new RegExp(`POST http://127.0.0.1:\\d+/orders was answered ${String(status)}`),
    );
    expect(result.error).toContain(status === 304 ? "304" : "no such order");
    expect(result.error).not.toContain("secret");
  },
);

test.each([
  { what: "says nothing", answer: () => undefined },
  {
    what: "stops in the middle",
    answer: ((_, response) => void response.writeHead(200).write("{")) satisfies RequestListener,
  },
])("a service that $what ends the attempt in its time", async ({ answer }) => {
  const result = await attempt(answer, 100);
  expect(result).toMatchObject({
    outcome: "failed",
    error: expect.stringMatching(/did not answer within 0.1 s/),
  });
});

test("a service that cannot be reached fails the attempt, with the reason", async () => {
  const result = await attempt((request) => request.socket.destroy());
  expect(result).toMatchObject({
    outcome: "failed",
    error: expect.stringMatching(/got no answer: .*other side closed|got no answer: .*ECONNRESET/),
  });
});

test("the idempotency key of the job is sent, unless the handler has set one", async () => {
  const keys: unknown[] = [];
  const answer: RequestListener = (request, response) => {
    keys.push(request.headers["idempotency-key"]);
    response.end();
  };
  const { id, outcome } = await attempt(answer);
  await attempt(answer, undefined, { "Idempotency-Key": "mine" });
  expect([outcome, keys]).toEqual(["done", [id, "mine"]]);
});
