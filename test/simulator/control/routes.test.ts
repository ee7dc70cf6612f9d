import { describe, expect, test } from "vitest";
import { FAULTS } from "../../../simulator/domain/faults.ts";
import { READINGS } from "../../../simulator/domain/readings.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { loopTurns } from "../../helpers/loop-turns.ts";
import { firstId, startService } from "../../helpers/service.ts";
import type { SimulatorOptions } from "../../../simulator/service/compose.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";
import { until } from "../../receiver/helpers/until.ts";

const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const time = expect.stringMatching(ISO);
const error = (code: string) => ({ error: code, message: expect.stringMatching(/^\S.{15,}[.)]$/s) });

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

describe("an event that is triggered", () => {
  test("for one endpoint as a test belongs to the endpoint's organization", async () => {
    const { ask } = await startService();
    const { body } = await ask("GET", "/organizations");
    for (const { id } of body.data ?? []) {
      const endpoint = await ask("POST", "/endpoints", { url: "http://localhost:9/", org_id: id });
      const tested = await ask("POST", `/endpoints/${String(endpoint.body["id"])}/test`, {});
      expect(tested.body["events"]).toMatchObject([{ org_id: id, type: "call.completed" }]);
    }
  });

  test("with an invalid object is refused, and nothing is stored; an unusual one is emitted", async () => {
    const { ask } = await startService();
    for (const [type, object, message] of [
      ["call.completed", { duration_sec: "long" }, "object.duration_sec: "],
      ["call.completed", { transfered: true }, 'Did you mean "transferred"?'],
      ["voicemail.created", { object: "call" }, "object.object: "],
    ] as const) {
      const refused = await ask("POST", "/events", { type, object });
      expect(refused).toMatchObject({ status: 400, body: { error: "invalid_request" } });
      expect(refused.body["message"]).toContain(message);
    }
    expect((await ask("GET", "/events")).body["data"]).toEqual([]);
    for (const [type, object] of [
      ["call.completed", { outcome: "transferred", transferred: true, transfer_succeeded: false }],
      ["order.created", { whatever: { it: ["says"] } }],
    ] as const)
      expect(await ask("POST", "/events", { type, object })).toMatchObject({ status: 202 });
  });
});

describe("endpoints", () => {
  const view = {
    object: "endpoint",
    id: expect.stringMatching(/^ep_[0-9a-f]{16}$/),
    org_id: null,
    url: "http://localhost:3000/webhooks",
    name: "",
    paused: false,
    event_types: [],
    faults: [],
    flagged: false,
    consecutive_failures: 0,
    secret_last4: expect.stringMatching(/^.{4}$/),
    previous_secret_last4: null,
    previous_secret_until: null,
    created_at: time,
  };

  test("are registered, shown, changed and removed", async () => {
    const { ask } = await startService();
    const created = await ask("POST", "/endpoints", { url: "http://localhost:3000/webhooks" });
    expect(created).toMatchObject({ status: 201 });
    expect(created.body).toEqual({ ...view, secret: expect.stringMatching(/^whsec_[0-9a-f]{48}$/) });
    const path = `/endpoints/${String(created.body["id"])}`;
    expect((await ask("GET", path)).body).toEqual(view);
    expect((await ask("GET", "/endpoints")).body).toEqual({ object: "list", data: [view] });
    const changes = {
      url: "https://example.com/in",
      name: "Kitchen",
      paused: true,
      event_types: ["order.created"],
      faults: ["drop-answer:2"],
    };
    expect((await ask("PATCH", path, changes)).body).toEqual({ ...view, ...changes });
    expect(await ask("DELETE", path)).toMatchObject({ status: 204, body: undefined });
    expect((await ask("GET", "/endpoints")).body).toEqual({ object: "list", data: [] });
    for (const method of ["GET", "PATCH", "DELETE"]) {
      const gone = await ask(method, path, method === "PATCH" ? {} : undefined);
      expect(gone).toMatchObject({ status: 404, body: error("not_found") });
    }
  });

  test("are refused with a message, whether they are registered or changed", async () => {
    const { ask } = await startService();
    const { body } = await ask("POST", "/endpoints", { url: "http://localhost:3000/" });
    const path = `/endpoints/${String(body["id"])}`;
    for (const wrong of [
      { url: 5 },
      { url: "http://example.com/" },
      { url: "http://localhost", event_types: ["call.ended"] },
      { url: "http://localhost", org_id: "org_none" },
      { url: "http://localhost", faults: ["explode"] },
      { url: "http://localhost", secret: "a b" },
      { url: "http://localhost", urls: [] },
    ])
      for (const answer of [await ask("POST", "/endpoints", wrong), await ask("PATCH", path, wrong)])
        expect(answer, JSON.stringify(wrong)).toMatchObject({ status: 400, body: error("invalid_request") });
    expect((await ask("POST", "/endpoints", {})).status).toBe(400);
    expect((await ask("GET", path)).body).toMatchObject({ url: "http://localhost:3000/", org_id: null });
  });

  test("can be set to one organization, and back to all", async () => {
    const { ask, simulator } = await startService();
    const [first] = simulator.world.organizations();
    const orgId = first?.organization.id;
    const { body } = await ask("POST", "/endpoints", { url: "http://localhost:3000/", org_id: orgId });
    const path = `/endpoints/${String(body["id"])}`;
    expect((await ask("PATCH", path, { faults: [] })).body).toMatchObject({ org_id: orgId });
    expect((await ask("PATCH", path, { org_id: null })).body).toMatchObject({ org_id: null });
    expect((await ask("GET", path)).body).toMatchObject({ org_id: null });
  });
});

describe("events", () => {
  test("are emitted, listed, and shown with their envelope", async () => {
    const type = "voicemail.created";
    const endpoint = await startEndpoint();
    const { ask } = await startService();
    await ask("POST", "/endpoints", { url: endpoint.url });
    const created = await ask("POST", "/events", { type });
    expect(created.status).toBe(202);
    expect(created.body).toEqual({
      events: [{ id: expect.stringMatching(/^evt_[0-9a-f]{32}$/), type, org_id: expect.any(String) }],
      deliveries: [{ id: expect.any(String), event_id: expect.any(String), endpoint_id: expect.any(String) }],
    });
    await endpoint.until(1);
    const { id } = (created.body["events"] as { id: string }[])[0] ?? {};
    const view = {
      object: "event",
      id,
      type,
      org_id: expect.any(String),
      origin: "trigger",
      created_at: time,
      summary: expect.stringMatching(/^\S.{10,}/),
    };
    expect((await ask("GET", "/events")).body).toEqual({
      object: "list",
      data: [view],
      has_more: false,
      next_cursor: null,
    });
    const shown = await ask("GET", `/events/${id}`);
    expect(shown.body).toMatchObject({
      ...view,
      envelope: JSON.parse(endpoint.received[0]?.body.toString() ?? ""),
      deliveries: [{ object: "delivery", event_id: id }],
    });
  });

  test("are emitted with overrides, in an organization, many at once", async () => {
    const { ask, simulator } = await startService();
    const second = simulator.world.organizations()[1]?.organization.id;
    const created = await ask("POST", "/events", {
      type: "call.completed",
      object: { outcome: "voicemail", duration_sec: 7 },
      org_id: second,
      // More than in one turn of the event loop.
      count: 101,
    });
    expect(created.body).toMatchObject({ deliveries: [] });
    const events = created.body["events"] as { id: string; org_id: string }[];
    expect(new Set(events.map(({ id }) => id)).size).toBe(101);
    expect(events.every((event) => event.org_id === second)).toBe(true);
    const shown = await ask("GET", `/events/${events[3]?.id}`);
    expect(shown.body).toMatchObject({
      envelope: { data: { object: { outcome: "voicemail", duration_sec: 7 } } },
    });
  });

  test("ten thousand of them do not delay other requests", async () => {
    const { ask, simulator } = await startService();
    const going = { on: true };
    const many = ask("POST", "/events", { type: "call.completed", count: 10_000 }).finally(
      () => (going.on = false),
    );
    // Requests in later turns of the event loop find more and more of them.
    const newest = new Set<string | undefined>();
    while (going.on) {
      newest.add(simulator.events.page({ limit: 1 }).events[0]?.id);
      await loopTurns(1);
    }
    expect(newest.size).toBeGreaterThan(50);
    const { status, body } = await many;
    expect(status).toBe(202);
    expect(new Set((body["events"] as { id: string }[]).map(({ id }) => id)).size).toBe(10_000);
  });

  test("are refused with a message", async () => {
    const { ask } = await startService();
    for (const [body, words] of [
      [{}, /type/],
      [{ type: "call.complete" }, /Did you mean "call.completed"\?/],
      [{ type: "toString" }, /Unknown event type/],
      [{ type: "call.completed", org_id: "org_none" }, /org_none/],
      [{ type: "order.created", org_id: "org_c4071e6b92fd4a58" }, /restaurant/],
      [{ type: "call.completed", count: 10_001 }, /count/],
      [{ type: "call.completed", faults: ["boom"] }, /boom/],
      [{ type: "call.completed", object: [] }, /object/],
    ] as const) {
      const answer = await ask("POST", "/events", body);
      expect(answer).toMatchObject({ status: 400, body: error("invalid_request") });
      expect(answer.body["message"]).toMatch(words);
    }
  });

  test("are paged, newest first, and filtered by type", async () => {
    const { ask } = await startService();
    await ask("POST", "/events", { type: "call.completed", count: 5 });
    await ask("POST", "/events", { type: "voicemail.created", count: 2 });
    const ids: unknown[] = [];
    for (let after = "", more = true; more;) {
      const { body } = await ask("GET", `/events?limit=2&type=call.completed${after}`);
      ids.push(...(body.data ?? []).map(({ id }) => id));
      after = `&starting_after=${String(ids.at(-1))}`;
      more = body["has_more"] === true;
    }
    expect(new Set(ids).size).toBe(5);
    expect(await ask("GET", "/events?starting_after=evt_none")).toMatchObject({ status: 404 });
    expect(await ask("GET", "/events?limit=0")).toMatchObject({ status: 400 });
    expect(await ask("GET", "/events/evt_none")).toMatchObject({ status: 404, body: error("not_found") });
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

test("each time that is shown is of the stated clock, and each figure of its own attempt", async () => {
  const wall = createVirtualWall();
  const sent: { body: Buffer; headers: Record<string, string> }[] = [];
  const send: SimulatorOptions["send"] = async ({ body, headers }) => {
    sent.push({ body, headers });
    const durationMs = sent.length === 1 ? 10_000 : 250;
    wall.pass(durationMs);
    return sent.length === 1
      ? { outcome: { error: "timeout", detail: "too late" }, durationMs }
      : {
          outcome: { status: 204 },
          durationMs,
          answer: { headers: { a: "b" }, body: Buffer.from("c"), truncated: true },
        };
  };
  const { simulator, ask } = await startService({ clock: "manual", wall, send });
  const wallMs = wall.nowMs();
  const scheduleMs = simulator.clock.now() + 7_200_000;
  const iso = (ms: number): string => new Date(ms).toISOString();
  await simulator.clock.advance(3_600);
  const endpoint = await ask("POST", "/endpoints", { url: "http://localhost:9/hooks" });
  expect(endpoint.body).toMatchObject({ created_at: iso(scheduleMs - 3_600_000) });
  await simulator.clock.advance(3_600);
  const emitted = await ask("POST", "/events", { type: "order.created", faults: ["delay"] });
  const id = firstId(emitted.body["deliveries"]);
  await simulator.clock.advance(45);
  const due = await ask("GET", "/clock/ahead");
  expect(due.body.data).toMatchObject([
    {
      kind: "attempt",
      due_at: iso(scheduleMs + 90_000),
      count: 1,
      delivery_id: id,
      attempt: 2,
      event_type: "order.created",
    },
  ]);
  expect((await ask("GET", `/deliveries/${id}`)).body).toMatchObject({
    state: "attempting",
    created_at: iso(scheduleMs),
    next_attempt_at: iso(scheduleMs + 90_000),
  });
  wall.pass(1_000);
  await simulator.clock.advance(60);

  const { body } = await ask("GET", `/deliveries/${id}`);
  expect(body).toMatchObject({ state: "delivered", created_at: iso(scheduleMs), next_attempt_at: null });
  const attempt = (number: number, startedMs: number, wallStartedMs: number, more: object) => ({
    number,
    scheduled_at: iso(startedMs),
    started_at: iso(startedMs),
    ended_at: iso(startedMs),
    wall_started_at: iso(wallStartedMs),
    signature_timestamp: Math.floor(wallStartedMs / 1_000),
    fault: null,
    ...more,
  });
  expect(body.attempts).toMatchObject([
    attempt(1, scheduleMs + 30_000, wallMs, {
      duration_ms: 10_000,
      http_status: null,
      error: "timeout",
      error_detail: "too late",
      blame: "receiver",
      answer: null,
    }),
    attempt(2, scheduleMs + 90_000, wallMs + 11_000, {
      duration_ms: 250,
      http_status: 204,
      error: null,
      error_detail: null,
      blame: null,
      answer: { headers: { a: "b" }, body: "c", truncated: true },
    }),
  ]);
  for (const [index, made] of (body.attempts ?? []).entries()) {
    expect(made["request"]).toEqual({
      url: "http://localhost:9/hooks",
      line: "POST /hooks HTTP/1.1",
      headers: sent[index]?.headers,
      body: sent[index]?.body.toString(),
    });
  }
  expect(JSON.parse(sent[0]?.body.toString() ?? "")).toMatchObject({
    created: Math.floor(scheduleMs / 1_000),
  });
  const event = await ask("GET", `/events/${String(body["event_id"])}`);
  expect(event.body).toMatchObject({ created_at: iso(scheduleMs), type: "order.created", origin: "trigger" });
  expect((await ask("GET", "/clock")).body).toMatchObject({
    now: iso(scheduleMs + 105_000),
    wall_now: iso(wallMs + 11_250),
    next_attempt_at: null,
  });
});

describe("the clock", () => {
  test("is shown, advanced, and changed in mode", async () => {
    const endpoint = await startEndpoint(500);
    const { ask } = await startService({ clock: "manual" });
    await ask("POST", "/endpoints", { url: endpoint.url });
    await ask("POST", "/events", { type: "call.completed" });
    const view = (more: object) => ({
      object: "clock",
      mode: "manual",
      now: time,
      wall_now: time,
      next_attempt_at: time,
      deliveries: { attempting: 1, delivered: 0, dead: 0 },
      lost: 0,
      verdicts: {
        is_observed: false,
        counts: [{ endpoint_id: expect.any(String), meant: "honest", result: "not", count: 1 }],
      },
      ...more,
    });
    expect((await ask("POST", "/clock/advance", { seconds: 0 })).body).toEqual(view({}));
    expect(endpoint.received).toHaveLength(1);
    await ask("POST", "/clock/advance", { until: "next" });
    expect(endpoint.received).toHaveLength(2);
    const idle = await ask("POST", "/clock/advance", { until: "idle" });
    expect(endpoint.received).toHaveLength(6);
    const settled = { attempting: 0, delivered: 0, dead: 1 };
    expect(idle.body).toEqual(view({ next_attempt_at: null, deliveries: settled, lost: 1 }));
    expect((await ask("PATCH", "/clock", { mode: "skip" })).body).toMatchObject({ mode: "skip" });
    expect((await ask("GET", "/clock")).body).toMatchObject({ mode: "skip", deliveries: settled });
  });

  test("refuses unknown steps and modes with a message", async () => {
    const { ask } = await startService({ clock: "manual" });
    const wrong = [{}, { seconds: -1 }, { seconds: "60" }, { seconds: 366 * 86_400 + 1 }];
    for (const body of [...wrong, { until: "tomorrow" }, { seconds: 1, until: "idle" }])
      expect(await ask("POST", "/clock/advance", body)).toMatchObject({
        status: 400,
        body: { error: "invalid_request", message: expect.stringContaining('{ "until": "next" }') },
      });
    expect(await ask("PATCH", "/clock", { mode: "fast" })).toMatchObject({ status: 400 });
  });
});

describe("the rest", () => {
  test("organizations come with their API keys", async () => {
    const { ask } = await startService();
    const { body } = await ask("GET", "/organizations");
    expect(body).toMatchObject({
      object: "list",
      data: [
        { object: "organization", industry: "restaurant", api_key: "va_test_restaurant" },
        { object: "organization", api_key: "va_test_services" },
      ],
    });
  });

  test("every reading is listed with its section, choice and reason, and can be changed", async () => {
    const { ask, simulator } = await startService();
    const { body } = await ask("GET", "/readings");
    expect(body.data?.map(({ name }) => name)).toEqual(Object.keys(READINGS));
    for (const reading of body.data ?? []) {
      expect(reading).toMatchObject({
        choice: reading["default"],
        section: expect.stringMatching(/^SPEC §/),
        reason: expect.stringMatching(/\.$/),
      });
    }
    expect(await ask("PATCH", "/readings", { retry_body: "reserialized" })).toMatchObject({ status: 200 });
    expect(simulator.readings()).toMatchObject({ retry_body: "reserialized", flag_counts: "attempts" });
    // A second change leaves the first as it is.
    await ask("PATCH", "/readings", { flag_counts: "deliveries" });
    expect(simulator.readings()).toMatchObject({ retry_body: "reserialized", flag_counts: "deliveries" });
    for (const wrong of [{ retry_body: "other" }, { no_such: "x" }, { retry_body: 1 }]) {
      expect(await ask("PATCH", "/readings", wrong)).toMatchObject({
        status: 400,
        body: error("invalid_request"),
      });
    }
  });

  test("traffic is shown and set to a rate, from none to 60,000 calls a minute", async () => {
    const { ask } = await startService();
    for (const [rate, status] of Object.entries({ 0: 200, 60_000: 200, 60_001: 400 })) {
      const per_minute = Number(rate);
      expect((await ask("PATCH", "/traffic", { per_minute })).status).toBe(status);
      const traffic = { object: "traffic", per_minute: Math.min(per_minute, 60_000) };
      expect((await ask("GET", "/traffic")).body).toEqual(traffic);
    }
  });

  test("every fault is listed", async () => {
    const { ask } = await startService();
    const { body } = await ask("GET", "/faults");
    expect(body.data?.map(({ name }) => name)).toEqual(Object.keys(FAULTS));
  });

  test("a reset forgets everything, or keeps the endpoints", async () => {
    const { ask } = await startService();
    await ask("POST", "/endpoints", { url: "http://localhost:3000/" });
    await ask("POST", "/events", { type: "call.completed" });
    expect(await ask("POST", "/reset", { keep_endpoints: true })).toMatchObject({
      status: 200,
      body: { reset: true },
    });
    expect((await ask("GET", "/endpoints")).body.data).toHaveLength(1);
    expect((await ask("GET", "/events")).body.data).toEqual([]);
    await ask("POST", "/reset", {});
    expect((await ask("GET", "/endpoints")).body.data).toEqual([]);
    expect(await ask("POST", "/reset", { everything: true })).toMatchObject({ status: 400 });
  });

  test("recorded envelopes are sent again, under their own ids or new ones", async () => {
    const endpoint = await startEndpoint();
    const { ask } = await startService();
    await ask("POST", "/endpoints", { url: endpoint.url });
    const envelope = {
      id: "evt_0123456789abcdef0123456789abcdef",
      type: "call.archived",
      created: 1,
      api_version: "v1",
      data: { object: { object: "call", extra: [1] } },
      org_id: "org_5f2c81d0a7b94e63",
      later: true,
    };
    for (const ids of [{}, { new_ids: false }, { new_ids: true }]) {
      expect(await ask("POST", "/replay", { envelopes: [envelope], ...ids })).toMatchObject({ status: 202 });
    }
    await endpoint.until(3);
    const sent = endpoint.received.map(({ body }) => JSON.parse(body.toString()) as { id: string });
    expect(sent.filter(({ id }) => id === envelope.id)).toHaveLength(2);
    expect(sent.map((value) => ({ ...value, id: envelope.id }))).toEqual([envelope, envelope, envelope]);
    expect(await ask("POST", "/replay", { envelopes: [] })).toMatchObject({ status: 400 });
    const nobody = { envelopes: [envelope], endpoint_id: "ep_none" };
    expect(await ask("POST", "/replay", nobody)).toMatchObject({ status: 404, body: error("not_found") });
    expect(await ask("POST", "/replay", { envelopes: [{ id: "x" }] })).toMatchObject({ status: 400 });
  });

  test("an unknown id is 404", async () => {
    const { ask } = await startService();
    for (const [method, path, body] of [
      ["GET", "/"],
      ["PUT", "/endpoints", {}],
      ["DELETE", "/endpoints"],
      ["POST", "/clock", {}],
    ] as const)
      expect(await ask(method, path, body)).toMatchObject({ status: 404, body: error("not_found") });
  });
});
