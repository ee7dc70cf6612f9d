import { describe, expect, test } from "vitest";
import type { SimulatorOptions } from "../../../simulator/service/compose.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { freePort } from "../../helpers/free-port.ts";
import { startService } from "../../helpers/service.ts";
import { emit, register } from "../../helpers/simulator.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";
import { error, time } from "./answers.ts";

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

test("a URL is stored in its normal form, whether it is registered or changed", async () => {
  const { ask } = await startService();
  for (const [given, kept] of [
    ["HTTP://LOCALHOST:3000", "http://localhost:3000/"],
    ["http://localhost:80/a b?x=1", "http://localhost/a%20b?x=1"],
    ["https://EXAMPLE.com:443/./in", "https://example.com/in"],
  ] as const) {
    const added = (await ask("POST", "/endpoints", { url: given })).body;
    expect(added["url"]).toBe(kept);
    const path = `/endpoints/${String(added["id"])}`;
    await ask("PATCH", path, { url: "http://localhost:9/other" });
    expect((await ask("PATCH", path, { url: given })).body["url"]).toBe(kept);
    expect((await ask("GET", path)).body["url"]).toBe(kept);
  }
});

test("an address is checked before registration: whether it is allowed, and whether a server listens there", async () => {
  const receiver = await startEndpoint();
  const { ask } = await startService();
  const nobody = `http://localhost:${await freePort()}/in`;
  for (const [given, durations] of [
    [receiver.url, { ok: true, url: receiver.url, is_listening: true }],
    [nobody, { ok: true, url: nobody, is_listening: false }],
    ["HTTPS://Example.com", { ok: true, url: "https://example.com/", is_listening: null }],
    [
      "http://example.com/",
      { ok: false, message: expect.stringContaining("is for localhost only") as string },
    ],
  ] as const)
    expect((await ask("POST", "/endpoints/check", { url: given })).body).toEqual(durations);
  expect(receiver.received).toEqual([]);
  expect((await ask("GET", "/endpoints")).body.data).toEqual([]);
});

type Send = NonNullable<SimulatorOptions["send"]>;

test("an endpoint's newest 48 answers are listed, without open attempts, and its figures leave out faults", async () => {
  let made = 0;
  const held = Promise.withResolvers<{ outcome: { error: "interrupted" }; durationMs: number }>();
  const wall = createVirtualWall();
  const send: Send = ({ signal }) => {
    wall.pass(1);
    made += 1;
    signal.addEventListener("abort", () =>
      held.resolve({ outcome: { error: "interrupted" }, durationMs: 1 }),
    );
    if (made > 60) return held.promise;
    return Promise.resolve({ outcome: { status: made % 2 === 0 ? 204 : 500 }, durationMs: made });
  };
  const { ask, simulator } = await startService({ clock: "manual", send, wall });
  const { id } = register(simulator, "http://localhost:9/");
  const other = register(simulator, "http://localhost:9/other", { eventTypes: ["order.created"] });
  for (let count = 0; count < 60; count += 1) {
    const faults = count < 58 ? [] : [{ name: "bad-signature" } as const];
    simulator.events.emit({ type: "call.completed", faults });
    await simulator.settled();
  }
  emit(simulator);
  await expect.poll(() => made).toBe(61);

  const { body } = await ask("GET", `/endpoints/${id}/answers`);
  const durations = (body.attempts ?? []).map(({ duration_ms: tookMs }) => Number(tookMs));
  expect(durations).toEqual(Array.from({ length: 48 }, (_, index) => index + 13));
  // Of the two with a fault one failed, because of the fault; the other was accepted.
  expect(body).toMatchObject({ object: "answers", counted: 59, acknowledged: 30, p95_ms: 57 });
  expect((await ask("GET", `/endpoints/${other.id}/answers`)).body).toEqual({
    object: "answers",
    counted: 0,
    acknowledged: 0,
    p95_ms: null,
    attempts: [],
  });
  expect((await ask("GET", "/endpoints/ep_none/answers")).status).toBe(404);
});
