import { describe, expect, test } from "vitest";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { loopTurns } from "../../helpers/loop-turns.ts";
import { firstId, startService } from "../../helpers/service.ts";
import { answering, emitOne, register } from "../../helpers/simulator.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";
import { until } from "../../receiver/helpers/until.ts";
import { error, time } from "./answers.ts";

test("an attempt keeps its exact address when its endpoint's URL changes", async () => {
  const { ask } = await startService();
  const receiver = await startEndpoint();
  const { body } = await ask("POST", "/endpoints", { url: `${receiver.url}/first?a=b` });
  await ask("POST", "/events", { type: "call.completed" });
  await receiver.until(1);
  await ask("PATCH", `/endpoints/${String(body["id"])}`, { url: "https://example.com/second" });
  const { data } = (await ask("GET", "/deliveries")).body as { data: { id: string }[] };
  const shown = await until(
    async () => (await ask("GET", `/deliveries/${data[0]?.id}`)).body,
    ({ state }) => state === "delivered",
  );
  const { host } = new URL(receiver.url);
  const { request } = (shown["attempts"] as { request: object }[])[0] ?? {};
  expect(request).toMatchObject({
    url: `${receiver.url}/first?a=b`,
    line: "POST /webhooks/first?a=b HTTP/1.1",
    headers: { host, connection: "close", "content-length": expect.stringMatching(/^\d+$/) },
  });
});

describe("deliveries", () => {
  const attempt = (number: number, more: object) => ({
    number,
    scheduled_at: time,
    started_at: time,
    ended_at: time,
    wall_started_at: time,
    duration_ms: expect.any(Number),
    signature_timestamp: expect.any(Number),
    error_detail: null,
    fault: null,
    blame: "receiver",
    ...more,
  });

  test("are listed by endpoint, event and state, and shown with every attempt", async () => {
    const failing = await startEndpoint((response) =>
      response.writeHead(503, { "x-why": "tired" }).end("no"),
    );
    const healthy = await startEndpoint(204);
    const { ask } = await startService({ clock: "manual" });
    const one = await ask("POST", "/endpoints", { url: failing.url });
    await ask("POST", "/endpoints", { url: healthy.url });
    const { body } = await ask("POST", "/events", { type: "call.completed" });
    await ask("POST", "/clock/advance", { seconds: 60 });
    const id = firstId(body["deliveries"]);
    const eventId = firstId(body["events"]);

    const listed = await ask("GET", `/deliveries?endpoint_id=${String(one.body["id"])}`);
    expect(listed.body).toEqual({
      object: "list",
      has_more: false,
      next_cursor: null,
      data: [
        {
          object: "delivery",
          id,
          event_id: eventId,
          event_type: "call.completed",
          org_id: expect.any(String),
          endpoint_id: one.body["id"],
          state: "attempting",
          created_at: time,
          next_attempt_at: time,
          faults: [],
          verdict: {
            meant: "honest",
            result: "not",
            sentence: "Not acknowledged so far (503)",
            cause: "unavailable",
            why: expect.stringContaining("overloaded"),
          },
          handling: null,
          resend_of: null,
          recovered_by: null,
          summary: expect.stringMatching(/ called · completed, /),
          attempts: [
            attempt(1, { http_status: 503, error: null }),
            attempt(2, { http_status: 503, error: null }),
          ],
        },
      ],
    });
    expect((await ask("GET", `/deliveries?event_id=${eventId}`)).body.data).toHaveLength(2);
    expect((await ask("GET", "/deliveries?state=delivered")).body.data).toHaveLength(1);
    expect((await ask("GET", "/deliveries?state=dead")).body.data).toEqual([]);

    const shown = await ask("GET", `/deliveries/${id}`);
    expect(shown.body).toMatchObject({
      url: failing.url,
      attempts: [
        {
          request: {
            headers: { "x-service-signature": failing.received[0]?.signature },
            body: failing.received[0]?.body.toString(),
          },
          answer: { headers: { "x-why": "tired" }, body: "no", truncated: false },
        },
        { number: 2 },
      ],
    });
  });

  test("refuse filters and ids that do not exist", async () => {
    const { ask } = await startService();
    expect(await ask("GET", "/deliveries?state=gone")).toMatchObject({
      status: 400,
      body: error("invalid_request"),
    });
    for (const [method, path] of [
      ["GET", "/deliveries/dlv_none"],
      ["POST", "/deliveries/dlv_none/resend"],
      ["POST", "/deliveries/dlv_none/attempt"],
      ["POST", "/endpoints/ep_none/test"],
      ["GET", "/deliveries?starting_after=dlv_none"],
    ] as const) {
      const answer = await ask(method, path, method === "POST" ? {} : undefined);
      expect(answer).toMatchObject({ status: 404, body: error("not_found") });
    }
  });

  test("are resent as new ones, and their next attempt can be made now", async () => {
    const endpoint = await startEndpoint(500);
    const { ask, simulator } = await startService({ clock: "manual" });
    const { body: registered } = await ask("POST", "/endpoints", { url: endpoint.url });
    const { body } = await ask("POST", "/events", { type: "call.completed" });
    await simulator.settled();
    const id = firstId(body["deliveries"]);

    expect(await ask("POST", `/deliveries/${id}/attempt`, {})).toMatchObject({ status: 202 });
    await endpoint.until(2);
    await simulator.settled();
    const again = await ask("POST", `/deliveries/${id}/resend`, {});
    expect(again).toMatchObject({ status: 202, body: { resend_of: id, attempts: [] } });
    await endpoint.until(3);
    await simulator.clock.run();
    const dead = await ask("POST", `/deliveries/${id}/attempt`, {});
    expect(dead).toMatchObject({ status: 409, body: error("nothing_due") });

    await ask("DELETE", `/endpoints/${String(registered["id"])}`);
    const orphan = await ask("POST", `/deliveries/${id}/resend`, {});
    expect(orphan).toMatchObject({ status: 409, body: error("endpoint_deleted") });
  });
});

test.each([
  [
    { known: true, count: 1, state: "done", duplicates: 2 },
    { handled: 1, duplicates: 2, state: "done" },
  ],
  [
    { known: true, count: 0, state: "waiting" },
    { handled: 0, duplicates: null, state: "waiting" },
  ],
] as const)(
  "a receiver's report of an event is shown with its delivery, and whether it is final: %j",
  async (reading, shown) => {
    const wall = createVirtualWall();
    const { ask, simulator } = await startService({ clock: "manual", wall, send: answering(200) });
    register(simulator, "http://localhost:9/");
    simulator.verdicts.observe(() => Promise.resolve(reading));
    const id = emitOne(simulator);
    await simulator.settled();
    const handling = async () => (await ask("GET", `/deliveries/${id}`)).body["handling"];
    expect(await handling()).toBeNull();
    for (const [looks, isSettled] of [
      [[60], false],
      [[240, 700, 2_000], reading.count > 0],
      [[5_000, 12_000], true],
    ] as const) {
      for (const ms of looks) {
        wall.pass(ms);
        await loopTurns(3);
      }
      expect(await handling()).toEqual({ ...shown, is_settled: isSettled });
    }
  },
);
