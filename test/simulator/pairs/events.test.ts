import { expect, test } from "vitest";
import { EVENT_TYPES } from "../../../shared/events.ts";
import type { SimulatorOptions } from "../../../simulator/compose.ts";
import { startService, type Json } from "../../helpers/service.ts";
import { emit, register } from "../../helpers/simulator.ts";
import { run } from "../commands/in-process.ts";
import { pairsOf, walk } from "./pairs.ts";

/** Any two filters of events, and of the history of deliveries, against what the whole lists say. */

type Shown = {
  id: string;
  type: string;
  org_id: string;
  endpoint_id: string;
  event_type: string;
  state: string;
  created_at: string;
};
type Filter = { name: string; value: string; fits: (shown: Shown) => boolean };

/** Two events of each type in each organization that has them, an hour later one more of each. */
async function startVaried() {
  const send: SimulatorOptions["send"] = async ({ url }) => ({
    outcome: { status: url.endsWith("/good") ? 204 : 500 },
    durationMs: 1,
  });
  const service = await startService({ clock: "manual", organizations: 4, send });
  const { simulator, ask } = service;
  for (const name of ["good", "bad"]) register(simulator, `http://localhost:9/${name}`);
  const all = async (path: string) => (await ask("GET", path)).body.data as unknown as Shown[];
  for (const orgId of simulator.world.organizations().map(({ organization }) => organization.id)) {
    for (const type of EVENT_TYPES) simulator.events.emit({ type, orgId }, 2);
  }
  await simulator.clock.advance(86_400);
  for (const type of EVENT_TYPES) emit(simulator, type);
  await simulator.settled();
  return { ...service, all };
}

test("two filters of a list of events find what both find, page by page", async () => {
  const { ask, all, simulator, url } = await startVaried();
  const whole = await all("/events");
  expect(whole.length).toBeGreaterThan(20);
  const [first, second] = simulator.world.organizations();
  const newest = whole[0]?.id ?? "";
  const filters: Filter[] = [
    ...EVENT_TYPES.map((value) => ({ name: "type", value, fits: ({ type }: Shown) => type === value })),
    ...[first, second].map((one) => ({
      name: "org_id",
      value: one?.organization.id ?? "",
      fits: ({ org_id: own }: Shown) => own === one?.organization.id,
    })),
    { name: "q", value: newest, fits: ({ id }) => id === newest },
    { name: "q", value: "created", fits: ({ type }) => type.endsWith(".created") },
  ];
  for (const pair of [...filters.map((one) => [one]), ...pairsOf(filters)]) {
    const asked = Object.fromEntries(pair.map(({ name, value }) => [name, value]));
    // Of `created` a payload may speak as well: then the list itself says what it finds by that alone.
    const isVague = asked["q"] === "created";
    const fits = isVague
      ? new Set(await walk(ask, "/events", { q: "created" }, 1_000))
      : new Set<unknown>(whole.map(({ id }) => id));
    const expected = whole.filter(
      (one) => fits.has(one.id) && pair.every(({ name, fits: own }) => (isVague && name === "q") || own(one)),
    );
    const found = await walk(ask, "/events", asked, 3);
    expect({ asked, found }).toEqual({ asked, found: expected.map(({ id }) => id) });
  }
  const listed = await run("events", "--type", "order.created", "--limit", "2", "--json", "--simulator", url);
  const orders = whole.filter(({ type }) => type === "order.created").map(({ id }) => id);
  expect(listed.json<{ data: Shown[] }>().data.map(({ id }) => id)).toEqual(orders.slice(0, 2));
});

test("two filters of the history count what both find", async () => {
  const { ask, all, simulator } = await startVaried();
  const whole = await all("/deliveries");
  const times = whole.map(({ created_at: at }) => Date.parse(at));
  const middleMs = (Math.min(...times) + Math.max(...times)) / 2;
  const middle = new Date(middleMs).toISOString();
  const filters: Filter[] = [
    { name: "since", value: middle, fits: ({ created_at: at }) => Date.parse(at) >= middleMs },
    { name: "until", value: middle, fits: ({ created_at: at }) => Date.parse(at) <= middleMs },
    { name: "type", value: "order.created", fits: ({ event_type: type }) => type === "order.created" },
    ...simulator.endpoints.list().map(({ id }) => ({
      name: "endpoint_id",
      value: id,
      fits: ({ endpoint_id: own }: Shown) => own === id,
    })),
  ];
  for (const pair of [[], ...filters.map((one) => [one]), ...pairsOf(filters)]) {
    const asked = Object.fromEntries(pair.map(({ name, value }) => [name, value]));
    const found = whole.filter((one) => pair.every(({ fits }) => fits(one)));
    const count = (state: string) => found.filter((one) => one.state === state).length;
    const { body } = await ask("GET", `/history?${new URLSearchParams(asked).toString()}`);
    const states = { attempting: count("attempting"), delivered: count("delivered"), dead: count("dead") };
    expect({ asked, counted: body["deliveries"], lost: body["lost"] }).toEqual({
      asked,
      counted: states,
      lost: states.dead,
    });
    const begun = (body["slots"] as Json[]).map((slot) => Date.parse(String(slot["started_at"])));
    const lengths = begun.slice(1).map((startedMs, index) => startedMs - (begun[index] ?? 0));
    expect(new Set([...lengths, Number(body["slot_seconds"]) * 1_000]).size).toBe(1);
  }
});
