import { h } from "preact";
import { expect, test, vi } from "vitest";
import type { Delivery } from "../../../simulator/dashboard/app/core/types.ts";
import { fullTimeOf } from "../../../simulator/dashboard/app/core/words.ts";
import { at, attemptAt, deliveryAt } from "./deliveries.ts";
import { clockOf, NO_SIGNATURE, openForms } from "./forms.ts";

/** A delivery and its event: what is shown of them, and what is sent again. */

const { page, live, answers, sent, wait, open, read, key } = await openForms();
const { Countdown, StateChip, VerdictLine } =
  await import("../../../simulator/dashboard/app/components/chips.tsx");
const { DeliveryView } = await import("../../../simulator/dashboard/app/components/delivery-view.tsx");
const { EditAndSend } = await import("../../../simulator/dashboard/app/components/edit-and-send.tsx");
const { Timeline } = await import("../../../simulator/dashboard/app/components/timeline.tsx");
const { scheduleNowMs } = await import("../../../simulator/dashboard/app/core/live.ts");
const { EventPage } = await import("../../../simulator/dashboard/app/pages/event.tsx");

test("one goes through the attempts of a delivery, acts on it by keys, and each action is of this one", async () => {
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
});

test("a delivery names what it belongs to, and one that is gone says so", async () => {
  const own = { ...attemptAt(1, 200), signature: NO_SIGNATURE, answer: null };
  const request = { headers: {}, body: '{"id":"evt_1","data":{"object":{"id":"vm_1","call_id":"call_7"}}}' };
  const attempts = [1, 2].map((number) => ({ ...own, number, request }));
  const handling = { handled: 1, duplicates: 0, state: "done", is_settled: true };
  const related = { resend_of: "dlv_old", recovered_by: "dlv_new" };
  const more = { ...related, handling, url: null, attempts, faults: ["delay"] } as Partial<Delivery>;
  live.about = { operator_page: "http://r/event?id={id}" } as never;
  Object.assign(location, { search: "?attempt=1" });
  answers["/deliveries/d"] = deliveryAt(1, "d", more);
  const show = () => open(h(DeliveryView, { id: "d", query: "", isAlone: true }));
  const view = await show();
  expect(view.words()).toMatch(
    /to ep_1 \(deleted\).*\d, resent for dlv_old, recovered by dlv_new .*delay.*Attempt 1200 OK/,
  );
  const around = ["deliveries/dlv_old", "deliveries/dlv_new", "world/calls?org=org_1&open=call_7"];
  const links = around.map((path) => `/dashboard/${path}`);
  const events = ["http://r/event?id=evt_d", "/dashboard/events/evt_d"];
  expect(view.having("href")).toEqual(["/dashboard", ...links, ...events]);
  await view.close();
  const unsent = { url: "http://a/", attempts: [], next_attempt_at: at(9) };
  answers["/deliveries/d"] = deliveryAt(1, "d", unsent);
  const waiting = await show();
  const places = ["", "/endpoints/ep_1", "/events/evt_d"].map((path) => `/dashboard${path}`);
  expect(waiting.having("href")).toEqual(places);
  expect(waiting.words()).toContain(`No attempt yet: the first one is due ${fullTimeOf(at(9))}`);
  answers["/deliveries/d"] = Response.json({ message: "There is no d." }, { status: 404 });
  live.feed.put(deliveryAt(1, "d"));
  for (const ms of [150, 0, 0]) await wait(ms);
  expect(waiting.words()).toContain("There is no d.");
  expect(waiting.words()).not.toContain("Resend");
});

test("the six slots say what was, what is next, and what comes only if all before fail", async () => {
  const words = async (more: Partial<Delivery>) => {
    const view = await open(h(Timeline, { delivery: deliveryAt(0, "a", more), chosen: 1, onChoose() {} }));
    return view.byClass("outcome").map((part) => part.words);
  };
  const failed = [attemptAt(0, 500)];
  const waiting = { state: "attempting", next_attempt_at: at(1), attempts: failed } as const;
  const rest = Array(4).fill("if all before fail");
  expect(await words(waiting)).toEqual(["500 Server Error", "in 1:00", ...rest]);
  expect(await words({})).toEqual(["200 OK", ...Array(5).fill("not needed")]);
  live.clock = clockOf({ now: at(9_999) });
  const chosen: number[] = [];
  const attempts = [{ ...attemptAt(0, 200), wall_started_at: at(60) }];
  const props = {
    delivery: deliveryAt(0, "a", { attempts }),
    chosen: 2,
    onChoose: (n: number) => chosen.push(n),
  };
  const view = await open(h(Timeline, props));
  await view.root.parts.find(({ localName }) => localName === "button")?.tell("click");
  expect([chosen, view.all("time"), view.byClass("slot-real")[0]?.words]).toEqual([
    [1],
    ["13:30:00"],
    "real 14:30:00 · 1 ms",
  ]);
});

test("a verdict says how often an event was handled, and a state has its own colour", async () => {
  const line = (handled: number, duplicates: number | null = null) => {
    const handling = { handled, duplicates, state: "done", is_settled: true };
    return read(h(VerdictLine, { delivery: deliveryAt(1, "a", { handling }) }));
  };
  for (const [handled, words] of ["never", "once", "twice", "3 times"].entries())
    expect(await line(handled)).toContain(`The receiver says: done, handled ${words}.`);
  expect(await line(1, 2)).toContain("handled once, 2 duplicates seen.");
  for (const [state, shown] of Object.entries({
    attempting: "In progress wait",
    delivered: "Delivered ok",
    dead: "Gave up bad",
  })) {
    const chip = await open(h(StateChip, { state: state as Delivery["state"] }));
    const tone = chip.byClass("chip inline")[0]?.attributes.get("class");
    expect(`${chip.words()} ${tone}`).toBe(shown.replace(/\w+$/, "chip inline $&"));
  }
  for (const mode of ["manual", "skip", "real"] as const) {
    Object.assign(live, { clock: clockOf({ mode }), clockReceivedAt: performance.now() });
    await wait(2_000);
    expect((scheduleNowMs() ?? 0) - Date.parse(at(0))).toBe(mode === "manual" ? 0 : 2_000);
  }
  for (const [minute, words] of [[4, "in 1:00"] as const, [5, "due now"] as const]) {
    live.clock = clockOf({ now: at(minute) });
    expect(await read(h(Countdown, { until: at(5) }))).toBe(words);
  }
  const titles = { manual: "Schedule time stands still: step the clock.", real: at(5) };
  for (const [mode, title] of Object.entries(titles)) {
    live.clock = clockOf({ mode: mode as "real" });
    const { root } = await open(h(Countdown, { until: at(5) }));
    expect(root.parts[0]?.attributes.get("title")).toBe(title);
  }
});

test("an event is sent again under its id or a new one, and its deliveries are as the stream tells them", async () => {
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
});

test("an event is edited and sent to its endpoint alone, as another or as a duplicate", async () => {
  const delivery = deliveryAt(1, "a");
  const attempt = { request: { body: '{"id":"evt_1"}' } } as never;
  const ids: string[] = [];
  const onSent = (id: string) => ids.push(id);
  const form = await open(h(EditAndSend, { delivery, attempt, onSent, onClose() {} }));
  answers["/replay"] = { deliveries: [] };
  await form.fill("The event", "{");
  await form.submit();
  expect([sent, form.button("Send").disabled]).toEqual([[], true]);
  await form.fill("The event", '{"id":"evt_2"}');
  await form.submit();
  await form.root.parts.find(({ attributes }) => attributes.get("type") === "checkbox")?.tell("change");
  await form.submit();
  const body = { envelopes: [{ id: "evt_2" }], new_ids: true, endpoint_id: "ep_1", faults: [] };
  expect(sent.map(([, path, of]) => [path, of])).toEqual(
    [body, { ...body, new_ids: false }].map((of) => ["/replay", of]),
  );
  expect(ids).toEqual([]);
});
