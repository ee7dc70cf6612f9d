import { h } from "preact";
import { expect, test, vi } from "vitest";
import type { Due } from "../../../simulator/dashboard/app/core/types.ts";
import { at, attemptAt, deliveryAt } from "./deliveries.ts";
import { clockOf, endpointOf, NO_SIGNATURE, openForms } from "./forms.ts";

/** Pages as one uses them: where a key, a press or a drag leads, and what it moves. */

const { page, live, answers, sent, called, wait, open, key } = await openForms();
class Observer {
  observe() {}
  disconnect() {}
}

test("time is moved on the line by keys and by dragging, to a mark that is near, and asks where anything waits", async () => {
  const { TimeStrip } = await import("../../../simulator/dashboard/app/components/time-strip.tsx");
  const { AskedQuestion } = await import("../../../simulator/dashboard/app/components/dialog.tsx");
  const { placeOnLine } = await import("../../../simulator/dashboard/app/core/ahead.ts");
  const due = { kind: "attempt", due_at: at(5), count: 1, delivery_id: "a" } as Due;
  answers["/clock/ahead"] = { data: [due] };
  answers["/clock/advance"] = clockOf({ now: at(1) });
  const [asked, view] = [await open(h(AskedQuestion, {})), await open(h(TimeStrip, {}))];
  const slider = view.field("Move schedule time ahead");
  const box = { left: 0, width: 1_000 };
  const captured = {
    setPointerCapture() {},
    hasPointerCapture: () => true,
    getBoundingClientRect: () => box,
  };
  const press = async (name: string, minutes: number, button = 0) => {
    const clientX = placeOnLine(minutes * 60_000) * box.width;
    await slider.tell(`pointer${name}`, { button, clientX, currentTarget: captured });
    return slider.attributes.get("aria-valuetext");
  };
  const steer = async (keys: string) => {
    for (const name of keys.split(" ")) await slider.tell("keydown", { key: name });
    return slider.attributes.get("aria-valuetext");
  };
  for (const [keys, goal] of [
    ["ArrowRight", "in 1:00"],
    ["ArrowRight ArrowUp", "in 30:00: 1 attempt"],
    ["ArrowLeft", "in 5:00: 1 attempt"],
    ["ArrowDown ArrowDown", "now"],
    ["End", "in 12:00:00: 1 attempt"],
    ["Escape", "now"],
    ["ArrowRight Home", "now"],
    ["Enter", "now"],
  ] as const)
    expect([keys, await steer(keys)]).toEqual([keys, goal]);
  await steer("End");
  const right = `${(1 - placeOnLine(43_200_000)) * 100}%`;
  expect(view.byClass("strip-tip")[0]?.style).toEqual({ right });
  await steer("Escape");
  expect([await press("down", 2, 2), await press("down", 2)]).toEqual(["now", "in 2:00"]);
  expect([await press("move", 4.9), live.reachMs]).toEqual(["in 5:00: 1 attempt", Date.parse(at(5))]);
  await press("up", 4.9);
  expect(asked.words()).toContain("On the way: 1 attempt.");
  await asked.press("Keep waiting");
  expect([sent, await press("none", 0), live.reachMs]).toEqual([[], "now", undefined]);
  for (const name of ["down", "up"]) await press(name, 5);
  await asked.press("Move");
  await steer("ArrowRight Enter");
  expect(sent.map(([, , body]) => body)).toEqual([{ seconds: 300 }, { seconds: 60 }]);
  const step = { kind: "step", due_at: at(9), count: 1, event_type: "order.created" };
  answers["/clock/ahead"] = { data: [{ ...due, count: 2 }, step] };
  live.clockChanges += 1;
  await view.again(h(TimeStrip, {}));
  for (const ms of [249, 1]) await wait(ms);
  expect(view.byClass("strip-sum")[0]?.words).toBe("2 attempts and 1 scenario step");
  expect(view.all("title")).toEqual(["2 attempts, in 4:00", "1 scenario step, in 8:00: order.created"]);
  expect(view.byClass("mark-step order-created")[0]?.attributes.get("cx")).toBe(
    `${placeOnLine(480_000) * 100}%`,
  );
  // Another step was quicker: what is past is no goal.
  expect(await steer("ArrowRight")).toMatch(/^in/);
  live.clock = clockOf({ now: at(20) });
  await view.again(h(TimeStrip, {}));
  expect([await press("none", 0), live.reachMs]).toEqual(["now", undefined]);
  for (const { close } of [view, asked]) await close();
});

test("the palette goes through its choices by arrows without leaving them, and searches from two letters on", async () => {
  const { Palette } = await import("../../../simulator/dashboard/app/components/palette.tsx");
  const { useActions } = await import("../../../simulator/dashboard/app/core/actions.ts");
  answers["/deliveries"] = { data: [deliveryAt(1, "dlv_9", { summary: "Ada called" })] };
  live.endpoints = new Map([["ep_1", endpointOf({ name: "Kitchen" })]]);
  let closed = 0;
  const view = await open(h(Palette, { onClose: () => (closed += 1), toggleTheme() {}, openHelp() {} }));
  const input = view.field("Go to, or do");
  const type = async (value: string, ms = 120) => {
    await input.tell("input", { currentTarget: { value } });
    await wait(ms);
    return view.all("li");
  };
  const press = async (...keys: string[]) => {
    for (const name of keys) await input.tell("keydown", { key: name });
    return view.root.parts.find(({ attributes }) => attributes.get("aria-selected") === "true")?.words;
  };
  const [first, last] = ["Open delivery dlv_1x", "Ada calledcall.completed"];
  expect(await type("dlv_1x")).toEqual([first, last]);
  expect([await press("ArrowUp"), await press(...Array<string>(3).fill("ArrowDown"))]).toEqual([first, last]);
  await press("ArrowUp", "Enter");
  expect(page.visits).toEqual(["push /dashboard/deliveries/dlv_1x"]);
  expect([await type("~"), await type("~~", 119), await type("~~~")]).toEqual([[], [], [last]]);
  const own = { key: "r", icon: "resend", words: "Resend this delivery", run() {} } as const;
  for (const [text, action] of [
    ["kit", "Kitchenendpoint"],
    ["dead", "Show what gave up"],
    ["dark", "Change the theme"],
    ["timed", "Show what timed out"],
    ["rotate", "Rotate the secret of Kitchen"],
    ["faults", "Go to Trigger"],
    ["settings", "Go to Open questions"],
    ["rec", "Recover what was lost (resend all that gave up)"],
    ["signature", "Docs: the signature"],
    ["retry", "Docs: webhooks and their retries"],
    ["curl", "Docs: the REST API"],
    ["resend thi", last],
  ] as const) {
    await press("ArrowDown");
    await type(text);
    expect(await press()).toBe(action);
  }
  const detail = await open(h(() => (useActions([own]), null), {}));
  expect((await type("resend this"))[0]).toBe(own.words);
  await press("Escape");
  expect(closed).toBe(2);
  for (const { close } of [detail, view]) await close();
});

test("each action of the palette goes where it says, or does it, and leads on only if that worked", async () => {
  const { Palette } = await import("../../../simulator/dashboard/app/components/palette.tsx");
  const { rememberList } = await import("../../../simulator/dashboard/app/core/route.ts");
  live.endpoints = new Map([["ep_1", endpointOf({ name: "Kitchen" })]]);
  live.about = { event_types: ["order.created"] } as never;
  rememberList("/?state=dead");
  const done: string[] = [];
  const toggles = { toggleTheme: () => done.push("theme"), openHelp: () => done.push("help") };
  const does = async (words: string) => {
    const view = await open(h(Palette, { onClose() {}, ...toggles }));
    await view.fill("Go to, or do", words);
    await view.root.parts.find(({ localName }) => localName === "li")?.tell("click");
    await view.close();
    const asked = sent.splice(0).map(([, path, body]) => `${path} ${JSON.stringify(body)}`);
    return [...asked, ...page.visits.splice(0), ...done.splice(0)].join();
  };
  answers["/clock/advance"] = clockOf({ now: at(7) });
  answers["/events"] = { events: [{ id: "evt_1" }], deliveries: [] };
  for (const [words, what] of [
    ["go to live", "push /dashboard?state=dead"],
    ["go to world", "push /dashboard/world"],
    ["what is not right", "push /dashboard?verdict=not"],
    ["what gave up", "push /dashboard?state=lost"],
    ["what timed out", "push /dashboard?q=status:timeout"],
    ["register an endpoint", "push /dashboard/endpoints?new"],
    ["recover what was lost", "push /dashboard?state=lost&resend"],
    ["docs: objects", "push /dashboard/docs#objects"],
    ["deliveries to kitchen", "push /dashboard?endpoint=ep_1"],
    ["rotate the secret of", "push /dashboard/endpoints/ep_1?rotate"],
    ["evt_9x", "push /dashboard/events/evt_9x"],
    ["ep_9x", "push /dashboard/endpoints/ep_9x"],
    ["change the theme", "theme"],
    ["keyboard", "help"],
    ["step to the next", '/clock/advance {"until":"next"}'],
    ["one minute", '/clock/advance {"seconds":60}'],
    ["one hour", '/clock/advance {"seconds":3600}'],
    ["until nothing waits", '/clock/advance {"until":"idle"}'],
    ["trigger order", '/events {"type":"order.created"},push /dashboard/events/evt_1'],
    ["verify kitchen", "/endpoints/ep_1/verify {},push /dashboard/verify"],
  ] as const)
    expect([words, await does(words)]).toEqual([words, what]);
  expect(live.clock?.now).toBe(at(7));
  answers["/events"] = { events: [{ id: "evt_1" }], deliveries: [{ id: "dlv_1" }] };
  expect(await does("trigger order")).toContain(",push /dashboard/deliveries/dlv_1");
  for (const path of ["/events", "/endpoints/ep_1/verify"])
    answers[path] = Response.json({ message: "no" }, { status: 409 });
  for (const words of ["trigger order", "verify kitchen"]) expect(await does(words)).toMatch(/\}$/);
});

test("searched words are marked wherever they are, and a phone number in any notation from seven digits on", async () => {
  const { useHighlight } = await import("../../../simulator/dashboard/app/core/filters.ts");
  const marks = new Map<string, Range[]>();
  class Range {
    from = 0;
    to = 0;
    setStart = (_: unknown, from: number) => (this.from = from);
    setEnd = (_: unknown, to: number) => (this.to = to);
  }
  vi.stubGlobal("CSS", { highlights: marks });
  vi.stubGlobal("Range", Range);
  vi.stubGlobal("NodeFilter", {});
  vi.stubGlobal("Highlight", function Highlight(...ranges: Range[]) {
    return ranges;
  });
  const text = "Ada (ADA) at +1 (212) 555-0194, a.a";
  const texts = [{ textContent: text }, { textContent: "and ada" }];
  const walker = () => ({ nextNode: () => left.shift() ?? null });
  let left: typeof texts = [];
  Object.assign(page, { createTreeWalker: walker, querySelector: () => page });
  const Marks = ({ q }: { q: string }) => (useHighlight(q), null);
  for (const [q, marked] of [
    ["ada", "Ada,ADA,ada"],
    ["2125550194", "212) 555-0194"],
    ["phone:5550194", "555-0194"],
    ["555019", ""],
    ["(ADA) status:500", "(ADA)"],
    [".a", ".a"],
  ] as const) {
    left = [...texts];
    await open(h(Marks, { q }));
    const found = (marks.get("search") ?? []).map(({ from, to }, n, { length }) =>
      (n === length - 1 && q === "ada" ? "and ada" : text).slice(from, to),
    );
    expect([q, found.join()]).toEqual([q, marked]);
  }
  await open(h(Marks, { q: "status:500" }));
  expect(marks.has("search")).toBe(false);
  Object.assign(page, { querySelector: () => null });
  vi.stubGlobal("CSS", {});
});

test("a filter is a step back, a letter of a search is none, and what was chosen belongs to its list", async () => {
  const { LivePage } = await import("../../../simulator/dashboard/app/pages/live.tsx");
  const { picked } = await import("../../../simulator/dashboard/app/core/picked.ts");
  vi.stubGlobal("ResizeObserver", Observer);
  const data = ["c", "b", "a"].map((id, n) => deliveryAt(3 - n, id));
  answers["/deliveries"] = { data, has_more: false, next_cursor: null };
  answers["/counts"] = { endings: [{ state: "delivered", verdict: "ok", cause: null, count: 9 }] };
  answers["/history"] = { slots: [], slot_seconds: 1 };
  live.about = { event_types: ["call.completed"] } as never;
  void live.feed.load(live.feed.list.filters);
  await wait(150);
  const view = await open(h(LivePage, { query: new URLSearchParams() }));
  const show = async (query: string, id?: string) => {
    await view.again(h(LivePage, { id, query: new URLSearchParams(query) }));
    await wait(150);
  };
  const search = (value: string) => view.fill("Search deliveries", value);
  await view.choose("Type", "call.completed");
  await search("a");
  await show("q=a");
  await search("ab");
  await show("q=ab", "a b");
  await search("");
  await view.choose("Type", "call.completed");
  expect(page.visits.splice(0)).toEqual([
    "push /dashboard?type=call.completed",
    "push /dashboard?q=a",
    "replace /dashboard?q=ab",
    "push /dashboard/deliveries/a%20b",
    "push /dashboard/deliveries/a%20b?q=ab&type=call.completed",
  ]);
  await show("");
  await view.press("Choose: c");
  await view.press("Choose: a", { shiftKey: true });
  expect([picked.get().ids.join(), view.words().includes("3 chosen")]).toEqual(["c,b,a", true]);
  await view.press("Choose all 9 that there are");
  expect([picked.get().isAll, view.words().includes("All 9 chosen")]).toEqual([true, true]);
  await show("state=dead");
  expect(picked.get()).toMatchObject({ ids: [], isAll: false });
  await key("R");
  await show("", "b");
  for (const name of ["j", "k"]) await key(name);
  const moved = ["a", "c"].map((id) => `replace /dashboard/deliveries/${id}`);
  expect(page.visits).toEqual(["push /dashboard?state=dead&resend", ...moved]);
  await view.close();
});

test("one goes through the attempts of a delivery, acts on it by keys, and each action is of this one", async () => {
  const { DeliveryView } = await import("../../../simulator/dashboard/app/components/delivery-view.tsx");
  const made = { ...attemptAt(1, 500), signature: NO_SIGNATURE, answer: null };
  const attempts = [1, 2, 3].map((number) => ({ ...made, number, request: { body: "{}", headers: {} } }));
  const more = { attempts, url: null, next_attempt_at: at(9) };
  answers["/deliveries/d%201"] = { ...deliveryAt(1, "d 1", { state: "attempting" }), ...more };
  answers["/deliveries/d%201/resend"] = { id: "dlv_2" };
  const shown = h(DeliveryView, { id: "d 1", query: "?q=x", isAlone: true });
  const view = await open(shown);
  const press = async (name: string) => {
    await key(name);
    await view.again(h(DeliveryView, { id: "d 1", query: "?q=x", isAlone: true }));
    return /Attempt (\d)5/.exec(view.words())?.[1];
  };
  const seen = [await press("none")];
  for (const name of ["Right", "Left", "Left", "Left", "Right"]) seen.push(await press(`Arrow${name}`));
  expect(seen.join()).toBe("3,3,2,1,1,2");
  expect(page.visits.at(-1)).toBe("replace /dashboard/deliveries/d%201?q=x&attempt=2");
  const copied: string[] = [];
  vi.stubGlobal("navigator", { clipboard: { writeText: async (text: string) => copied.push(text) } });
  const headers = { host: "h", "content-length": "1", connection: "close", "x-signed": "it's" };
  answers["/deliveries/d%201/sign"] = { url: "http://h/a?b=1&c", headers, body: '{"a":1}' };
  await press("c");
  const curl = [
    "curl -i",
    String.raw`-H 'x-signed: it'\''s'`,
    `--data-binary '{"a":1}'`,
    "'http://h/a?b=1&c'",
  ];
  expect([sent.pop(), copied]).toEqual([
    ["POST", "/deliveries/d%201/sign", { attempt: 2 }],
    [curl.join(" \\\n  ")],
  ]);
  const ended = { ...deliveryAt(1, "d 1"), ...more, next_attempt_at: null };
  const attempted = { toJSON: () => ((answers["/deliveries/d%201"] = ended), {}) };
  answers["/deliveries/d%201/attempt"] = attempted;
  for (const name of ["a", "r"]) await press(name);
  expect(view.byClass("chip inline")[0]?.words).toBe("Delivered");
  expect(sent.map(([, path]) => path)).toEqual(["/deliveries/d%201/attempt", "/deliveries/d%201/resend"]);
  const visits = ["replace /dashboard/deliveries/d%201?q=x", "push /dashboard/deliveries/dlv_2?q=x"];
  expect(page.visits.slice(-2)).toEqual(visits);
  answers["/replay"] = { deliveries: [{ id: "dlv_3" }] };
  await key("e");
  await view.submit();
  for (const name of ["u", "Escape"]) await key(name);
  const left = ["/deliveries/dlv_3?q=x", "", ""].map((path) => `push /dashboard${path}`);
  expect(page.visits.slice(-3)).toEqual(left);
  await view.close();
  const done = await open(h(DeliveryView, { id: "d 1", query: "", isAlone: false }));
  await key("a");
  const disabled = ["Attempt now", "Resend"].map((name) => done.button(name).disabled);
  expect([sent.length, ...disabled]).toEqual([3, true, false]);
  await done.close();
});

test("an event is sent again under its id or a new one, and its deliveries are as the stream tells them", async () => {
  const { EventPage } = await import("../../../simulator/dashboard/app/pages/event.tsx");
  const envelope = { id: "evt_1", type: "call.completed" };
  const deliveries = [deliveryAt(1, "e", { state: "attempting", attempts: [] })];
  answers["/events/evt_1"] = {
    ...envelope,
    summary: "",
    origin: "test",
    envelope,
    created_at: at(0),
    deliveries,
  };
  answers["/replay"] = { events: [{ id: "evt_2" }], deliveries: [] };
  const view = await open(h(EventPage, { id: "evt_1" }));
  for (const words of ["not sent yet", "from the test action of an endpoint"])
    expect(view.words()).toContain(words);
  live.feed.put(deliveryAt(1, "e"));
  await wait(150);
  expect(view.words()).toContain("200 OK");
  for (const name of ["same id", "new id"]) await view.press(`Send again, ${name}`);
  expect(sent.map(([, , body]) => body)).toEqual(
    [false, true].map((new_ids) => ({ envelopes: [envelope], new_ids })),
  );
  expect(page.visits).toEqual(["push /dashboard/events/evt_2"]);
  await view.close();
});

test("the world shows each kind of an organization page by page, and plays only recordings of this simulator", async () => {
  const { WorldPage } = await import("../../../simulator/dashboard/app/pages/world.tsx");
  Object.assign(location, { port: "4010" });
  live.organizations = [1, 2].map((n) => ({ id: `org_${n}`, name: "", api_key: `k${n}` })) as never;
  const call = (id: string, recording_url: string) => {
    const about = { object: "call", phone: id, transcript: "A", outcome: "completed", duration_sec: 61 };
    return { ...about, id, recording_url, created_at: at(0) };
  };
  const urls = ["localhost:4010", "localhost:1"].map((host, n) => `http://${host}/recordings/c${n + 1}.mp3`);
  const script = "javascript:alert(1)";
  const data = urls.map((url, n) => call(`c${n + 1}`, url));
  answers["/api/v1/calls?limit=50"] = { data, has_more: true };
  answers["/api/v1/calls?limit=50&starting_after=c2"] = { data: [call("c3", script)], has_more: false };
  const show = (query: string) => h(WorldPage, { query: new URLSearchParams(query) });
  // What is open is looked for page by page.
  const searched = await open(show("org=org_2&open=c3"));
  await wait();
  expect(searched.words()).toContain("3 items in all.");
  await searched.close();
  called.length = 0;
  const view = await open(show("org=org_2"));
  for (const words of ["k2", "completed · 1 min 1 s"]) expect(view.words()).toContain(words);
  await view.press("Load the next 50");
  expect(view.words()).toContain("3 items in all.");
  expect(called.map(([, key]) => key)).toEqual(["Bearer k2", "Bearer k2"]);
  await view.byClass("row edge")[0]?.tell("click");
  await view.choose("Organization", "org_1");
  const played: unknown[] = [];
  for (const id of ["c1", "c2", "c3"]) {
    await view.again(show(`org=org_2&open=${id}`));
    const part = view.root.parts.find(({ attributes }) => attributes.has("preload") || attributes.has("rel"));
    const { attributes = new Map<string, string>() } = part ?? {};
    played.push(
      attributes.get("src") ??
        attributes.get("href") ??
        view.words().includes(`Not a web address: ${script}`),
    );
  }
  expect(played).toEqual(["/recordings/c1.mp3", urls[1], true]);
  await view.press("Close");
  expect(page.visits).toEqual([
    "push /dashboard/world/calls?org=org_2&open=c1",
    "push /dashboard/world/calls?org=org_1",
    "replace /dashboard/world/calls?org=org_2",
  ]);
  await view.close();
});

test("traffic is set to a rate, or shown at its own, and a story is run by its name", async () => {
  const { ScenarioList, TrafficSwitch } = await import("../../../simulator/dashboard/app/pages/trigger.tsx");
  answers["/traffic"] = { per_minute: 45 };
  const view = await open(h(TrafficSwitch, {}));
  expect(view.words()).toMatch(/Off63012060045$/);
  answers["/traffic"] = { per_minute: 0 };
  await view.press("Off");
  expect(view.words()).toMatch(/600$/);
  answers["/scenarios"] = { data: [{ name: "a b", summary: "", events: 2 }] };
  answers["/scenarios/a%20b"] = { ends_at: at(9) };
  await (await open(h(ScenarioList, {}))).press("Run a b");
  expect(sent).toEqual([
    ["PATCH", "/traffic", { per_minute: 0 }],
    ["POST", "/scenarios/a%20b", {}],
  ]);
});

test("each page says what there is none of, and shows what its address names", async () => {
  const { EndpointsPage } = await import("../../../simulator/dashboard/app/pages/endpoints.tsx");
  const { TriggerPage } = await import("../../../simulator/dashboard/app/pages/trigger.tsx");
  const { VerifyPage } = await import("../../../simulator/dashboard/app/pages/verify.tsx");
  const { WorldPage } = await import("../../../simulator/dashboard/app/pages/world.tsx");
  const query = (text = "") => new URLSearchParams(text);
  const words = async (part: Parameters<typeof open>[0]) => {
    const view = await open(part);
    await wait(150);
    const said = view.words();
    await view.close();
    return said;
  };
  expect(await words(h(EndpointsPage, { query: query() }))).toContain("No endpoint is registered");
  expect(await words(h(EndpointsPage, { id: "ep_9", query: query() }))).toContain(
    "This endpoint does not exist",
  );
  answers["/verification"] = { verification: null };
  expect(await words(h(VerifyPage, {}))).toContain("Register an endpoint, then verify it here.");
  live.endpoints = new Map(["ep_1", "ep_2"].map((id) => [id, endpointOf({ id, name: `of ${id}` })]));
  expect(await words(h(VerifyPage, {}))).toMatch(/Endpoint of ep_1of ep_2Verify.*Press Verify to send/);
  expect(await words(h(EndpointsPage, { query: query("edit=ep_2") }))).toContain("Edit the endpoint");
  expect(await words(h(EndpointsPage, { id: "ep_2", query: query("rotate") }))).toContain(
    "Rotate the signing secret",
  );
  const types = ["a.b", "b.c"].map((type) => ({ type, emitted_when: "", schema: {}, example: {} }));
  answers["/event-types"] = { data: types };
  answers["/traffic"] = Response.json({}, { status: 404 });
  const trigger = await words(h(TriggerPage, { query: query("type=b.c") }));
  expect(trigger).toMatch(/trigger b\.c/);
  expect(trigger).not.toMatch(/Traffic|Scenarios/);
  live.organizations = [{ id: "org_1", name: "", api_key: "k1" }] as never;
  const voicemail = {
    object: "voicemail",
    id: "vm_1",
    customer_name: "Ada",
    message_text: "a\nb",
    call_id: "c1",
  };
  answers["/api/v1/voicemails"] = { data: [{ ...voicemail, reviewed: false, created_at: at(0) }] };
  const world = h(WorldPage, { section: "voicemails", query: query("open=vm_1") });
  expect(await words(world)).toMatch(/Ada a · b unread.*Voicemail of Ada.*Its call/);
  expect(await words(h(WorldPage, { query: query() }))).toContain(
    "Trigger an event: the world changes with it.",
  );
});
