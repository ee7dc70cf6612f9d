import { describe, expect, test } from "vitest";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { loopTurns } from "../../helpers/loop-turns.ts";
import { startService } from "../../helpers/service.ts";
import { error, time } from "./answers.ts";

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
      [{}, /type: expected string, but it is missing/],
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
