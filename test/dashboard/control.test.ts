import { expect, test } from "vitest";
import { EVENT_TYPES } from "../../shared/events.ts";
import { VERSION } from "../../simulator/processes/version.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { openDashboard } from "./open-dashboard.ts";

async function openControl() {
  const { url, simulator } = await openDashboard({ calls: 0 });
  return { origin: new URL(url).origin, simulator };
}

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

test("browsers neither sniff the type of an answer nor cache it", async () => {
  const { origin } = await openControl();
  const { headers } = await control(origin, "GET", "/endpoints");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("access-control-allow-origin")).toBeNull();
});

test("one combined request returns several lists, each with its status, and takes only lists", async () => {
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
  expect(about?.body).toEqual({
    object: "about",
    version: VERSION,
    command: "voice-agent-simulator",
    is_observed: false,
    operator_page: null,
    event_types: EVENT_TYPES,
  });
  const plain = await fetch(`${origin}/control/many?path=/about`, {
    headers: { "accept-encoding": "identity" },
  });
  expect(plain.headers.get("content-encoding")).toBeNull();
  expect(await plain.json()).toEqual({ object: "list", data: [about] });
  expect(deliveries?.body["data"]).toHaveLength(1);
  expect(refused).toMatchObject({ status: 400, body: { error: "invalid_request" } });
  expect(counts?.body).toMatchObject({
    total: 2,
    endings: [{ state: "attempting", verdict: "not", cause: "unavailable", count: 2 }],
  });
  for (const path of ["/stream", "/many?path=/about", "/verification", "/clock/../stream"])
    expect((await many(path)).status).toBe(400);
  for (const count of [20, 21])
    expect((await many(...Array<string>(count).fill("/about"))).status).toBe(count === 20 ? 200 : 400);
});

test("a resend of deliveries by id counts and sends exactly these", async () => {
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
