import Database from "better-sqlite3";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { EVENT_TYPES } from "../../../shared/events.ts";
import { sampleEnvelope } from "../../../shared/samples.ts";
import { systemTime } from "../../../simulator/domain/wall-time.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { startService } from "../../helpers/service.ts";
import { answering, emit, openSimulator, register, temporaryDirectory } from "../../helpers/simulator.ts";

const accept = answering(200);

/** A machine so slow that each read of the clock is `stepMs` later than the last one. */
function slowWall(stepMs: number) {
  let monotonicMs = 0;
  return { ...systemTime, monotonicMs: () => (monotonicMs += stepMs) };
}

/** Twelve deliveries of every type to two endpoints, written to the database: nothing is sent. */
async function startSearchable() {
  const service = await startService({ send: accept });
  const [kitchen, office] = ["kitchen", "office"].map((name) =>
    register(service.simulator, `http://localhost:9/${name}`),
  );
  for (const type of EVENT_TYPES) emit(service.simulator, type);
  service.simulator.events.emit({
    type: "voicemail.created",
    object: { customer_name: "Zoë Jäger", message_text: 'I lost my "red" jacket' },
  });
  await service.simulator.settled();
  const list = async (path: string) => (await service.ask("GET", path)).body;
  /** All pages of a search: on a busy machine one ends early, and returns where to continue. */
  const pages = async (path: string) => {
    const found: unknown[][] = [];
    for (let after = ""; ;) {
      const { data = [], has_more: hasMore, next_cursor: next } = await list(`${path}${after}`);
      found.push(data.map(({ id }) => id));
      expect(hasMore).toBe(next !== null);
      if (typeof next !== "string") return found;
      after = `${path.includes("?") ? "&" : "?"}starting_after=${next}`;
    }
  };
  const ids = async (path: string) => (await pages(path)).flat();
  return { ...service, list, pages, ids, kitchen: kitchen!, office: office! };
}

describe("lists", () => {
  test("of deliveries find text in ids, type, address, payload and summary, without regard to case", async () => {
    const { list, pages, ids } = await startSearchable();
    const [first] = (await list("/deliveries?type=order.created")).data ?? [];
    const inOne = (text: unknown) => ids(`/deliveries?q=${encodeURIComponent(String(text))}`);
    expect(await inOne(first?.["id"])).toEqual([first?.["id"]]);
    expect(await inOne(String(first?.["event_id"]).toUpperCase())).toHaveLength(2);
    expect(await inOne("ORDER.created")).toHaveLength(2);
    expect(await inOne("/Kitchen")).toHaveLength(6);
    expect(await inOne('my "RED" jacket')).toHaveLength(2);
    expect(await inOne("zoË JÄGER")).toHaveLength(2);
    expect(await inOne("jäger left a voicemail")).toHaveLength(2);
    expect(await inOne("nobody said this")).toEqual([]);
    expect(await inOne("  ")).toHaveLength(12);
    expect(await ids("/deliveries?q=jacket&type=order.created")).toEqual([]);
    const single = await pages("/deliveries?q=jacket&state=delivered&limit=1");
    expect(single.find((page) => page.length > 0)).toHaveLength(1);
  });

  test("of deliveries find text after a NUL character", async () => {
    const { ids, simulator } = await startSearchable();
    const sample = sampleEnvelope("order.created");
    const object = { ...sample.data.object, customer_name: "Ann\u0000a Zyx" };
    const recorded = { ...sample, data: { object } };
    expect(simulator.events.replay([recorded], { newIds: true }).ok).toBe(true);
    await simulator.settled();
    expect(await ids("/deliveries?q=zyx")).toHaveLength(2);
  });

  test("of deliveries search the sent body if a fault changed it", async () => {
    const { simulator, ids } = await startSearchable();
    simulator.events.emit({ type: "order.created", faults: [{ name: "unknown-fields" }] });
    expect(await ids("/deliveries?q=added_in_a_later_version")).toHaveLength(2);
  });

  test("of deliveries are searched by words and fields together, and phone numbers by their digits", async () => {
    const { simulator, ids, list, ask, kitchen } = await startSearchable();
    const object = { phone: "+12125550194", transcript: "Agent: a needle" };
    simulator.events.emit({ type: "call.completed", object, faults: [{ name: "time-out", attempts: 1 }] });
    await simulator.settled();
    const found = async (text: string) => (await ids(`/deliveries?q=${encodeURIComponent(text)}`)).length;
    for (const phone of ["(212) 555-0194", "+1 212.555.0194", "2125550194", "555-0194", "phone:212-555-0194"])
      expect([phone, await found(phone)]).toEqual([phone, 2]);
    expect(await found("(212) 555-0195")).toBe(0);
    expect(await found("type:order.created")).toBe(2);
    expect(await found("type:order.created needle")).toBe(0);
    expect(await found("needle type:call.completed")).toBe(2);
    expect(await found(`needle endpoint:${kitchen.id}`)).toBe(1);
    expect(await found("status:200 type:order.created")).toBe(2);
    expect(await found("status:500")).toBe(0);
    expect(await found("status:20")).toBe(0);
    expect(await found("after:1h needle")).toBe(2);
    expect(await found("before:1h needle")).toBe(0);
    expect(await found("nobody:said this")).toBe(0);
    expect(await found("event:evt_none")).toBe(0);
    // The field counts, not its text anywhere.
    expect(await ids("/deliveries?q=type:order.created&type=voicemail.created")).toHaveLength(4);
    expect(await ask("GET", "/deliveries?q=after:lunch")).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/^after: expected a time such as /) },
    });
    expect((await list("/deliveries?q=state:dead")).data).toEqual([]);
  });

  test.each([
    ["order.total:>20", 2],
    ["order.total:>=23 order.total:<=23.00", 2],
    ["order.total:<23", 0],
    ["total:=23", 2],
    ["voicemail.total:>20", 0],
    ["items.name:margherita", 2],
    ["items.name:marg", 0],
    ['customer_name:="Zoë Jäger"', 2],
    ['customer_name:="Zoë Jäger" type:order.created', 0],
    ["voicemail.reviewed:false jacket", 2],
    ["data.object.message_text:>a jacket", 2],
    ["created_at:>2100-01-01", 0],
    ["items.9.name:x", 0],
  ])("of deliveries are searched by paths into the payload: %s", async (query, count) => {
    const { simulator, ids } = await startSearchable();
    const object = { total: "23.00", items: [{ name: "Cola" }, { name: "Margherita" }] };
    simulator.events.emit({ type: "order.created", object });
    simulator.events.emit({ type: "order.created", object: { total: "7.00", items: [{ name: "Water" }] } });
    const search = `type:order.created ${query}`;
    const of = async (text: string) => (await ids(`/deliveries?q=${encodeURIComponent(text)}`)).length;
    const inSample = await of(query.includes("total") ? `${search} items.name:Cola` : query);
    expect(inSample).toBe(count);
  });

  test("of deliveries search the whole list, even on a slow machine", async () => {
    // A page may take 25 ms.
    const { simulator, ask } = await startService({ send: accept, wall: slowWall(1) });
    register(simulator, "http://localhost:9/");
    emit(simulator, "call.completed", 100);
    const { body } = await ask("GET", "/deliveries?q=no%20such%20text");
    expect(body).toMatchObject({ data: [], has_more: false, next_cursor: null });
  });

  test("of events are filtered by type and organization, and searched", async () => {
    const { ids } = await startSearchable();
    const one = await ids("/events?type=order.created");
    expect(one).toHaveLength(1);
    expect(await ids("/events?org_id=org_5f2c81d0a7b94e63&type=order.created")).toEqual(one);
    for (const more of ["", "&q=BOOKING.created"])
      expect(await ids(`/events?org_id=org_none${more}`)).toEqual([]);
    expect(await ids("/events?q=RED%5C%22%20jacket")).toHaveLength(1);
    expect(await ids("/events?q=BOOKING.created")).toHaveLength(1);
    expect(await ids(`/events?q=${String(one[0]).toUpperCase()}`)).toEqual(one);
    expect(await ids("/events?q=nobody%20said%20this")).toEqual([]);
  });

  test.each(["deliveries", "events"])(
    "of %s continue from next_cursor, which is null at the end",
    async (path) => {
      const { pages, ids } = await startSearchable();
      const found = await pages(`/${path}?limit=5`);
      expect(found.length).toBeGreaterThan(1);
      expect(found.flat()).toEqual(await ids(`/${path}`));
    },
  );

  test("refuse a text that is too long", async () => {
    const { ask } = await startService();
    expect(await ask("GET", `/deliveries?q=${"x".repeat(201)}`)).toMatchObject({ status: 400 });
    expect(await ask("GET", `/events?q=${"x".repeat(200)}`)).toMatchObject({ status: 200 });
  });

  test("end early if a list is too long for one search, and return where to continue", async () => {
    const { simulator, ask } = await startService({ wall: slowWall(1) });
    emit(simulator, "call.completed", 100);
    const { body } = await ask("GET", "/events?q=no%20such%20text");
    expect(body).toMatchObject({ data: [], has_more: true, next_cursor: expect.stringMatching(/^evt_/) });
    const rest = await ask("GET", `/events?q=x&limit=1&starting_after=${String(body["next_cursor"])}`);
    expect(rest.status).toBe(200);
  });

  test("pause during a search for deliveries that finds nothing, since attempts have deadlines", async () => {
    const { simulator } = await startService({ wall: slowWall(30) });
    register(simulator, "http://localhost:1/never-asked", { eventTypes: ["call.completed"] });
    emit(simulator, "call.completed", 1_000);
    const search = { text: "no such text", limit: 5 };
    const looks: (string | null)[] = [];
    for (let after: string | undefined; looks.at(-1) !== null; after = looks.at(-1) ?? undefined)
      looks.push(simulator.deliveries.page({ ...search, after }).next);
    expect(looks.length).toBeGreaterThan(2);
  });

  test("read no stored headers and answers: they work even if those are broken", async () => {
    const dataFile = join(temporaryDirectory(), "simulator.db");
    const endpoint = await startEndpoint();
    const before = openSimulator({ dataFile });
    register(before, endpoint.url);
    emit(before);
    await before.settled();
    await before.close();
    const database = new Database(dataFile);
    database.exec("UPDATE attempts SET request_headers = 'broken', answer_headers = 'broken'");
    database.close();
    const { ask } = await startService({ dataFile });
    const { body } = await ask("GET", "/deliveries");
    expect(body.data).toMatchObject([{ attempts: [{ http_status: 200 }] }]);
  });
});

test("counts are kept through failures, resends, restarts, removals and resets", async () => {
  const dataFile = join(temporaryDirectory(), "simulator.db");
  const healthy = await startEndpoint();
  const failing = await startEndpoint(500);
  const before = await startService({ dataFile, clock: "manual" });
  const one = register(before.simulator, healthy.url);
  const two = register(before.simulator, failing.url, { eventTypes: ["order.created"] });
  emit(before.simulator, "call.completed", 2);
  emit(before.simulator, "order.created");
  await before.simulator.settled();
  const of = (endpoint_id: string, event_type: string, count: number) => ({ endpoint_id, event_type, count });
  const expected = [
    of(one.id, "call.completed", 2),
    of(one.id, "order.created", 1),
    of(two.id, "order.created", 1),
  ];
  const counted = async (ask: typeof before.ask, query = "") => {
    const { body } = await ask("GET", `/counts${query}`);
    const counts = body["counts"] as ReturnType<typeof of>[];
    expect(body["total"]).toBe(counts.reduce((sum, { count }) => sum + count, 0));
    return counts;
  };
  expect(await counted(before.ask)).toHaveLength(3);
  expect(await counted(before.ask)).toEqual(expect.arrayContaining(expected));
  await before.simulator.close();

  const { simulator, ask } = await startService({ dataFile, clock: "manual" });
  expect(await counted(ask)).toEqual(expect.arrayContaining(expected));
  expect(await counted(ask, "?cause=server_error&state=attempting")).toEqual(expected.slice(2));
  await simulator.clock.run();
  expect(await counted(ask, "?state=dead&verdict=not")).toEqual([of(two.id, "order.created", 1)]);
  const [id = ""] = (await simulator.deliveries.findAll({ state: "dead" })).map((dead) => dead.id);
  await ask("POST", `/deliveries/${id}/resend`, {});
  await ask("DELETE", `/endpoints/${two.id}`);
  await simulator.settled();
  expect(await counted(ask, "?state=dead")).toEqual([of(two.id, "order.created", 2)]);
  await ask("POST", "/reset", {});
  expect(await counted(ask)).toEqual([]);
});
