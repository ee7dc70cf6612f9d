import { h } from "preact";
import { act } from "preact/test-utils";
import { expect, test, vi } from "vitest";
import { EVENT_TYPES } from "../../../shared/events.ts";
import type { Attempt, Check, Delivery, Job } from "../../../simulator/dashboard/app/core/types.ts";
import { fullTimeOf, timeOf } from "../../../simulator/dashboard/app/core/words.ts";
import type { ListHandle } from "../../../simulator/dashboard/app/components/windowed-list.tsx";
import { at, attemptAt, deliveryAt } from "./deliveries.ts";
import { Part } from "./dom.ts";
import { clockOf, endpointOf, NO_SIGNATURE, openForms } from "./forms.ts";

/** The parts of the pages one by one: their marks, links and figures, and what is shown where there is nothing. */

const { page, live, answers, sent, wait, open, key } = await openForms();
const classOf = (part: Part | undefined) => part?.attributes.get("class");
type View = Awaited<ReturnType<typeof open>>;
const having = ({ root }: View, name: string) =>
  root.parts.flatMap((part) => part.attributes.get(name) ?? []);
const hrefsOf = (view: View) => having(view, "href");
const copied: string[] = [];
let isRefused = false;
const writeText = async (text: string) => (isRefused ? Promise.reject(new Error("no")) : copied.push(text));
vi.stubGlobal("navigator", { clipboard: { writeText } });

test("a text is copied as it came, and the button says so for a moment, or that the browser refused", async () => {
  const { CopyButton } = await import("../../../simulator/dashboard/app/components/button.tsx");
  const { BodyView } = await import("../../../simulator/dashboard/app/components/code-view.tsx");
  const { toasts } = await import("../../../simulator/dashboard/app/core/toasts.ts");
  const button = await open(h(CopyButton, { text: "a", label: "Copy it" }));
  await button.press("Copy it");
  expect(button.words()).toBe("Copied");
  await wait(1_500);
  isRefused = true;
  await button.press("Copy it");
  expect([button.words(), toasts.get().map(({ kind }) => kind)]).toEqual(["Copy it", ["bad"]]);
  isRefused = false;
  const text = '{"k":"\u202ev","n":-1.5e3,"t":true}';
  const body = await open(h(BodyView, { text, label: "Body" }));
  const tones = body.root.parts.filter(({ parentNode: above }) => above?.localName === "pre");
  const toned = tones.flatMap((part) =>
    classOf(part) === undefined ? [] : [`${part.words} ${classOf(part)}`],
  );
  expect(toned.join()).toBe('"k" ,"‹U+202E›v" ok,"n" ,-1500 wait,"t" ,true wait');
  await body.press("Copy Body");
  expect(copied).toEqual(["a", text]);
});

test("arrows go around a group of buttons, of which one is reached by Tab", async () => {
  const { roam, Segments } = await import("../../../simulator/dashboard/app/components/button.tsx");
  const buttons = [1, 2, 3].map(() => new Part(1, "button"));
  const goes = ([key, from]: [string, number]) => {
    const event = { key, target: buttons[from], preventDefault() {}, stopPropagation() {} };
    roam({ ...event, currentTarget: { querySelectorAll: () => buttons } } as never);
    return buttons.indexOf(document.activeElement as never);
  };
  const ways = { ArrowRight: 2, ArrowDown: 0, ArrowLeft: 0, ArrowUp: 1 };
  expect(Object.entries(ways).map(goes)).toEqual([0, 1, 2, 0]);
  for (const [value, on] of Object.entries({ b: "false,true", none: "false,false" })) {
    const options = ["a", "b"].map((name) => [name, name] as const);
    const view = await open(h(Segments, { label: "", value, options, onChange() {} }));
    const states = [having(view, "aria-pressed").join(), having(view, "tabindex").indexOf("0")];
    expect(states).toEqual([on, value === "b" ? 1 : 0]);
  }
});

test("each outcome, verdict and event type has its own mark", async () => {
  const chips = await import("../../../simulator/dashboard/app/components/chips.tsx");
  const { Icon } = await import("../../../simulator/dashboard/app/components/button.tsx");
  const drawn = async (part: Parameters<typeof open>[0]) => having(await open(part), "d").join();
  const tones = {
    bad: {},
    ok: { http_status: 204 },
    purpose: { blame: "simulator" },
    wait: { ended_at: null },
  };
  for (const [tone, more] of Object.entries(tones)) {
    const attempt = { ...attemptAt(1, 500), ...more } as Attempt;
    expect(having(await open(h(chips.OutcomeChip, { attempt })), "class")).toEqual([`chip inline ${tone}`]);
  }
  const icons = { ok: "check", not: "cross", unknown: "question", waiting: "clock" } as const;
  for (const [result, name] of Object.entries(icons)) {
    const verdict = { ...deliveryAt(1, "a").verdict, result } as Delivery["verdict"];
    const mark = h(chips.VerdictMark, { delivery: deliveryAt(1, "a", { verdict }) });
    expect(await drawn(mark)).toBe(await drawn(h(Icon, { name })));
    expect(having(await open(mark), "title")).toEqual([verdict.sentence]);
  }
  const types = [...EVENT_TYPES, "other.type"];
  const marks = await Promise.all(types.map(async (type) => drawn(h(chips.TypeMark, { type }))));
  expect(new Set(marks).size).toBe(EVENT_TYPES.length + 1);
});

test("a check shows each request with its answer, or why there was none", async () => {
  const { CheckRow } = await import("../../../simulator/dashboard/app/components/check-row.tsx");
  const request = { method: "POST", url: "http://a/", headers: [["x", "y".repeat(2_001)]], body: "{}" };
  const answer = { status: 200, headers: [["a", "b"]], body: "took it" };
  const gone = { error: "reset", message: "gone" };
  const evidence = [answer, gone].map((received) => ({ sent: request, received }));
  const check = { id: "c", title: "", outcome: "failed", evidence } as unknown as Check;
  const { field } = await open(h(CheckRow, { check }));
  expect(field("Request: c, 1").words).toBe(`POST http://a/\nx: ${"y".repeat(1_999)}…\n\n{}`);
  expect(field("Answer: c, 1").words).toBe("HTTP 200\na: b\n\ntook it");
  expect(field("Answer: c, 2").words).toBe("reset: gone");
});

test("an attempt shows what was sent when, and all that came back", async () => {
  const { AttemptView } = await import("../../../simulator/dashboard/app/components/attempt-view.tsx");
  const base = { ...attemptAt(1, 500), wall_started_at: at(9), signature: NO_SIGNATURE };
  const request = { body: '{"a":1}', headers: {}, line: "POST /a HTTP/1.1" };
  const show = (more: object) => open(h(AttemptView, { attempt: { ...base, request, ...more } as never }));
  const answer = { body: "why", headers: { "set-cookie": ["1", "2"], a: "x" }, truncated: true };
  const { words, all, field } = await show({ answer });
  expect(words()).toContain(`Due ${fullTimeOf(at(1))} · sent ${fullTimeOf(at(9))} real time · took 1 ms`);
  expect([field("Request body").words, field("Answer body").words]).toEqual(['{\n  "a": 1\n}', "why"]);
  expect([all("tr"), words().includes("the first 16 KiB")]).toEqual([
    ["set-cookie1", "set-cookie2", "ax"],
    true,
  ]);
  expect((await show({ answer: { ...answer, truncated: false } })).words()).toContain("3 bytes");
  expect((await show({ answer: null, ended_at: null })).words()).toContain("None yet.");
  expect((await show({ answer: null })).words()).toContain("There was none.");
});

test("the clock offers only what can be done, and says where it is not the time of the wall", async () => {
  const { ClockBar } = await import("../../../simulator/dashboard/app/components/clock-bar.tsx");
  const bar = async (more: object) => {
    live.clock = clockOf(more);
    const { words, root } = await open(h(ClockBar, {}));
    const steps = root.parts.filter((part) => classOf(part)?.startsWith("button")).slice(0, 4);
    const can = steps.filter(({ disabled }) => !disabled).map((part) => part.words.trim());
    return [
      can.join(),
      steps.find((part) => part.attributes.get("tabindex") === "0")?.words,
      words(),
    ] as const;
  };
  const [can, first, words] = await bar({});
  expect([can, first]).toEqual(["Next,+1 min,+1 h,To the end", "Next"]);
  expect(words).toMatch(/^Schedule, real [\d:]{8}21 Nov 13:30:00/);
  const now = new Date(Date.now() - 1_000).toISOString();
  const [rest, second, none] = await bar({ next_attempt_at: null, now });
  expect([rest, second, none.includes("none due")]).toEqual(["+1 min,+1 h", "+1 min", true]);
  expect(none).toMatch(/^Schedule time[\d:]{8}Real/);
  answers["/clock/advance"] = clockOf();
  for (const name of ["n", "E"]) await key(name);
  expect(sent.map(([, , body]) => body)).toEqual([{ until: "next" }, { until: "idle" }]);
});

test("a delivery names what it belongs to, and one that is gone says so", async () => {
  const { DeliveryView } = await import("../../../simulator/dashboard/app/components/delivery-view.tsx");
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
  expect(hrefsOf(view)).toEqual(["/dashboard", ...links, ...events]);
  await view.close();
  const unsent = { url: "http://a/", attempts: [], next_attempt_at: at(9) };
  answers["/deliveries/d"] = deliveryAt(1, "d", unsent);
  const waiting = await show();
  const places = ["", "/endpoints/ep_1", "/events/evt_d"].map((path) => `/dashboard${path}`);
  expect(hrefsOf(waiting)).toEqual(places);
  expect(waiting.words()).toContain(`No attempt yet: the first one is due ${fullTimeOf(at(9))}`);
  answers["/deliveries/d"] = Response.json({ message: "There is no d." }, { status: 404 });
  live.feed.put(deliveryAt(1, "d"));
  for (const ms of [150, 0, 0]) await wait(ms);
  expect(waiting.words()).toContain("There is no d.");
  expect(waiting.words()).not.toContain("Resend");
  await waiting.close();
});

test("a card shows how its endpoint is set and does, and deletes nothing that the simulator keeps", async () => {
  const { EndpointCard } = await import("../../../simulator/dashboard/app/components/endpoint-card.tsx");
  const { AskedQuestion } = await import("../../../simulator/dashboard/app/components/dialog.tsx");
  const { toasts } = await import("../../../simulator/dashboard/app/core/toasts.ts");
  live.organizations = [{ id: "org_1", name: "Trattoria" }] as typeof live.organizations;
  const cardOf = (more: object) => open(h(EndpointCard, { endpoint: endpointOf(more) }));
  const settings = { org_id: "org_1", event_types: ["a.b"], paused: true };
  const answered = { attempts: [] as object[], counted: 0, acknowledged: 0, p95_ms: null };
  answers["/endpoints/ep_1/answers"] = answered;
  expect((await cardOf({})).words()).toMatch(/Nothing sent yet.*Eventsall typesOrganizationall org/);
  const attempts = [500, 200].map((status) => ({ ...attemptAt(1, status), delivery_id: "dlv_1" }));
  answers["/endpoints/ep_1/answers"] = { ...answered, attempts, counted: 1 };
  live.clock = clockOf({ wall_now: at(9_999) });
  const card = await cardOf(settings);
  expect(card.words()).toMatch(
    /Paused.*Acknowledged0 %p95–Last answer200 OK 13:31:00.*Eventsa\.bOrganizationTratt/,
  );
  const tones = {
    plain: {},
    wait: { consecutive_failures: 2 },
    bad: { consecutive_failures: 3, flagged: true },
  };
  for (const [tone, more] of Object.entries(tones))
    expect(classOf((await cardOf(more)).byClass("chip inline")[0])).toBe(`chip inline ${tone}`);
  const asked = await open(h(AskedQuestion, {}));
  await card.press("Resume");
  expect(sent.pop()).toEqual(["PATCH", "/endpoints/ep_1", { paused: false }]);
  answers["/endpoints/ep_1/test"] = { deliveries: [{ id: "dlv_7" }] };
  await card.press("Send a test event");
  expect(toasts.get().at(-1)?.link?.href).toBe("/dashboard/deliveries/dlv_7");
  answers["/endpoints/ep_1/test"] = Response.json({}, { status: 409 });
  await card.press("Send a test event");
  expect(toasts.get().at(-1)?.kind).toBe("bad");
  for (const status of [409, 200]) {
    answers["/endpoints/ep_1"] = Response.json({}, { status });
    await card.press("Delete");
    await asked.press("Delete");
    expect(page.visits).toEqual(status === 409 ? [] : ["replace /dashboard/endpoints"]);
  }
  for (const { close } of [card, asked]) await close();
});

test("what a trigger brought is said, with the way to it, and a form repeats all that it sends as a command", async () => {
  const { EventForm } = await import("../../../simulator/dashboard/app/components/event-form.tsx");
  const { toasts } = await import("../../../simulator/dashboard/app/core/toasts.ts");
  answers["/faults"] = { data: ["delay", "drop-answer"].map((name) => ({ name, at: "wire", title: "" })) };
  live.organizations = [{ id: "org_1", name: "Trattoria" }] as typeof live.organizations;
  const schema = { properties: { id: {} } };
  const example = { id: "http://localhost:4010/1", total: 5 };
  const type = { type: "order.created", schema, example } as never;
  const view = await open(h(EventForm, { type }));
  expect(view.words()).toContain("No endpoint will receive it.");
  expect(view.field("id").attributes.get("placeholder")).toBe("http://simulator/1");
  expect(view.field("How many").attributes.get("max")).toBe("10000");
  expect(view.field("Overrides (JSON)").attributes.get("placeholder")).toBe('{\n  "total": 5\n}');
  await view.choose("Organization", "org_1");
  for (const box of view.byClass("fault"))
    await box.parts.find(({ localName }) => localName === "input")?.tell("change");
  const command =
    "trigger order.created --org org_1 --fault delay --fault drop-answer --simulator http://sim";
  expect(view.words()).toContain(command);
  const [event, delivery] = [{ id: "evt_1", type: "order.created" }, { id: "dlv_1" }];
  for (const [events, deliveries, text, href] of [
    [1, 1, "order.created: 1 delivery on the way.", "/deliveries/dlv_1"],
    [2, 2, "2 events: 2 deliveries on the way.", ""],
    [1, 0, "order.created was emitted, but no endpoint has selected it.", "/endpoints"],
  ] as const) {
    const some = { events: Array(events).fill(event), deliveries: Array(deliveries).fill(delivery) };
    answers["/events"] = some;
    await view.submit();
    expect(toasts.get().at(-1)).toMatchObject({ text, link: { href: `/dashboard${href}` } });
    expect(view.button("Trigger").disabled).toBe(false);
  }
  const faults = ["delay", "drop-answer"];
  expect(sent[0]?.[2]).toEqual({ type: "order.created", count: 1, org_id: "org_1", faults });
  live.endpoints = new Map([["ep_1", endpointOf()]]);
  await view.again(h(EventForm, { type }));
  expect(view.words()).not.toContain("No endpoint will");
});

test("a row shows where it went, by whose fault, how far it is, and that it is new, chosen or within reach", async () => {
  const { FeedRow } = await import("../../../simulator/dashboard/app/components/feed-row.tsx");
  live.endpoints = new Map([["ep_1", endpointOf({ name: "Kitchen" })]]);
  const verdict = { ...deliveryAt(1, "a").verdict, meant: "forged", sentence: "As it should be" } as never;
  const failed = { state: "attempting" as const, next_attempt_at: at(5), attempts: [attemptAt(3, 500)] };
  const show = async () => {
    const row = { kind: "delivery", key: "a", delivery: deliveryAt(1, "a", { ...failed, verdict }) } as const;
    return open(h(FeedRow, { row, query: "?q=x", isChosen: false, isPicked: true, onPick() {} }));
  };
  const rowOf = async () =>
    (classOf((await show()).byClass("feed-row")[0]) ?? "").replace("feed-row edge flex ", "");
  const seen = [await rowOf()];
  live.feed.put(deliveryAt(1, "a"));
  for (const [reach, ms] of Object.entries({ 4: 0, 5: 1_599, 6: 1 })) {
    await wait(ms);
    live.reachMs = Date.parse(at(Number(reach)));
    seen.push(await rowOf());
  }
  live.reachMs = undefined;
  expect(seen).toEqual(["picked", "lit picked", "lit within-reach picked", "within-reach picked"]);
  live.clock = clockOf({ now: at(9_999), wall_now: at(9) });
  const view = await show();
  const shown = { where: "Kitchen", tag: "As it should be", when: timeOf(at(1)) };
  for (const [name, words] of Object.entries(shown)) expect(view.byClass(name)[0]?.words).toBe(words);
  const titles = view.byClass("slot-mark").map(({ attributes }) => attributes.get("title"));
  const later = [3, 4, 5, 6].map((n) => `Attempt ${n}: not due yet`);
  expect(titles).toEqual(["Attempt 1: 500 Server Error", "Attempt 2: next", ...later]);
  live.clock = clockOf({ wall_now: at(2_000) });
  expect((await show()).byClass("when")[0]?.childNodes.map(({ words }) => words)).toEqual([
    "21 Nov ",
    timeOf(at(1)),
  ]);
});

test("the bar above the list counts, clears what is chosen, and leads to the attempt that ended last", async () => {
  const { PickedBar } = await import("../../../simulator/dashboard/app/components/feed-picked.tsx");
  const { NOTHING_PICKED, picked } = await import("../../../simulator/dashboard/app/core/picked.ts");
  const { NO_FILTERS } = await import("../../../simulator/dashboard/app/core/filters.ts");
  const attempts = [attemptAt(99, 500), { ...attemptAt(99, 0), number: 2, ended_at: null }];
  live.feed.put(deliveryAt(1, "late", { attempts: [attemptAt(99, 500)] }));
  live.feed.put(deliveryAt(1, "late", { attempts }));
  const show = async (total: number | undefined, ids: string[], more: object = {}) => {
    picked.set({ ...NOTHING_PICKED, ids });
    const filters = { ...NO_FILTERS, ...more };
    return open(h(PickedBar, { filters, total, listed: ["a", "b"], query: "?q=x", onResend() {} }));
  };
  const none = await show(2, []);
  expect(none.words()).toMatch(
    /^2 deliveries in allLatest 500 Server Error attempt 1 · lateSend all again…$/,
  );
  expect(hrefsOf(none)).toEqual(["/dashboard/deliveries/late?q=x"]);
  expect((await show(1, [], { type: "a.b" })).words()).toMatch(/^1 delivery matchesLatest/);
  expect((await show(0, [])).button("Send all again…").disabled).toBe(true);
  expect((await show(undefined, [])).words()).toMatch(/^Latest/);
  const chosen = { "3a": "1 chosen", "2ab": "2 chosen", "3ab": "2 chosenChoose all 3 that there are" };
  for (const [[total, ...ids], words] of Object.entries(chosen).map(
    ([of, words]) => [of.split(""), words] as const,
  ))
    expect((await show(Number(total), ids)).words()).toBe(`${words}ClearSend again…`);
  const job = { id: "job_1", total: 9, sent: 4, ended_at: null };
  live.jobs = [{ ...job, sent: 9, ended_at: at(1) }, job] as Job[];
  const busy = await show(3, ["a"]);
  expect(busy.words()).toContain("4 of 9 sentCancel");
  await busy.press("Clear");
  expect(picked.get()).toEqual(NOTHING_PICKED);
});

test("past jobs say what they sent, and lead to the list of their selection", async () => {
  const { Resend } = await import("../../../simulator/dashboard/app/components/resend.tsx");
  const { NO_FILTERS } = await import("../../../simulator/dashboard/app/core/filters.ts");
  const figures = { sent: 5, acknowledged: 3, failed: 0, created_at: at(0), state: "done" };
  const done = {
    id: "1",
    ...figures,
    selection: { endpoint_id: "ep_1", gave_up_since: "1h", dry_run: false },
  };
  const ended = { id: "2", ...figures, selection: { ids: ["a", "b"] }, failed: 2, state: "canceled" };
  answers["/jobs"] = { data: [done, ended] };
  const counts = ["a.b", "b.c"].map((event_type, n) => ({ event_type, count: n + 1, endpoint_id: "ep_9" }));
  answers["/deliveries/resend"] = { total: 3, counts };
  const view = await open(h(Resend, { filters: NO_FILTERS, onClose() {} }));
  expect(view.all("tr").filter((row) => /^(?:a\.b|b\.c|\d)/.test(row))).toEqual([
    "b.cendpoint deleted2",
    "a.bendpoint deleted1",
    `${timeOf(at(0))}gave up since: 1h, endpoint: ep_15 sent, 3 acknowledged `,
    `${timeOf(at(0))}2 chosen deliveries5 sent, 3 acknowledged, 2 failed Canceled`,
  ]);
  expect(hrefsOf(view)).toEqual(["/dashboard?endpoint=ep_1&gave_up_since=1h"]);
  answers["/deliveries/resend"] = Response.json({ message: "One runs already." }, { status: 409 });
  await view.press("Send 3 again");
  expect(view.words()).toContain("One runs already.");
  await view.close();
  answers["/deliveries/resend"] = { total: 0, counts: [] };
  const nothing = await open(h(Resend, { filters: NO_FILTERS, onClose() {} }));
  expect(nothing.words()).toContain("Nothing to send:");
  expect(nothing.button("Send again").disabled).toBe(true);
  await nothing.close();
});

test("a dialog that only its content may close opens again, and a form keeps its error in view", async () => {
  const { Dialog, FormDialog } = await import("../../../simulator/dashboard/app/components/dialog.tsx");
  const dialogOf = ({ root }: View) => root.parts.find(({ localName }) => localName === "dialog");
  const shut = await open(h(Dialog, { title: "", children: [] }));
  const modal = { shown: 0 };
  Object.assign(dialogOf(shut) ?? {}, { showModal: () => (modal.shown += 1) });
  await dialogOf(shut)?.tell("close");
  const closed: number[] = [];
  const free = await open(h(Dialog, { title: "", children: [], onClose: () => closed.push(1) }));
  for (const type of ["cancel", "close"]) await dialogOf(free)?.tell(type);
  expect([modal.shown, closed.length]).toEqual([1, 2]);
  const onSubmit = () => Promise.reject(new Error("It is taken."));
  const form = await open(h(FormDialog, { title: "", action: "Save", onSubmit, onClose() {}, children: [] }));
  await form.submit();
  expect(form.words()).toContain("It is taken.");
});

test("a long list renders what is in view, with some rows around, and says when its end or its top is near", async () => {
  class Observer {
    observe() {}
    disconnect() {}
  }
  vi.stubGlobal("ResizeObserver", Observer);
  const { FeedEnd } = await import("../../../simulator/dashboard/app/components/feed-around.tsx");
  const { WindowedList } = await import("../../../simulator/dashboard/app/components/windowed-list.tsx");
  const edges: string[] = [];
  const tells = {
    onNearEnd: () => edges.push("end"),
    onAway: (isAway: boolean) => edges.push(isAway ? "away" : "top"),
  };
  const handle = { current: null as ListHandle | null };
  const rows = { count: 1_000, rowHeight: 40, row: String, keyOf: String };
  const view = await open(h(WindowedList, { ...rows, ...tells, handle, label: "", foot: "" }));
  const scroller = view.byClass("scroller")[0];
  const shown = async (scrollTop: number) => {
    Object.assign(scroller ?? {}, { clientHeight: 80, scrollTop });
    await act(async () => scroller?.tell("scroll"));
    const rows = view.all("li");
    return `${rows[0]} to ${rows.at(-1)} ${[...new Set(edges.splice(0))].join()}`;
  };
  expect([await shown(0), await shown(60), await shown(61)]).toEqual([
    "0 to 9 top",
    "0 to 11 top",
    "0 to 11 away",
  ]);
  // A step beyond the ends leaves the focus on its row; a row out of view is scrolled to, as little as needed.
  const focused = [1, -1, 1_000].map(
    (index) => (handle.current?.focus(index), handle.current?.focusedIndex()),
  );
  expect(focused).toEqual([1, 1, 1]);
  await shown(0);
  const scrolls: unknown[] = [];
  for (const index of [1, 2, 3, 1]) {
    handle.current?.focus(index);
    scrolls.push(Reflect.get(scroller ?? {}, "scrollTop"));
  }
  expect(scrolls).toEqual([0, 40, 80, 40]);
  const ranges = { 4_000: "92 to 109 away", 39_280: "974 to 991 away,end", 39_920: "990 to 999 away,end" };
  for (const [top, rows] of Object.entries(ranges)) expect(await shown(Number(top))).toBe(rows);
  // Hidden by a delivery, it keeps its place.
  Object.assign(scroller ?? {}, { clientHeight: 0, scrollTop: 0 });
  await act(async () => scroller?.tell("scroll"));
  expect(view.all("li")[0]).toBe("990");
  const ends = {
    " in all. ": {},
    "Searching older": { hasMore: true },
    "gone Try again": { error: new Error("gone") },
  };
  for (const [words, more] of Object.entries(ends)) {
    Object.assign(live.feed.list, { hasMore: false, error: undefined, ...more });
    expect((await open(h(FeedEnd, { onRetry() {} }))).words()).toContain(words);
  }
  Object.assign(live.feed.list, { hasMore: false, error: undefined });
});
