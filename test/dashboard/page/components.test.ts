import { type ComponentChild, h } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, expect, test, vi } from "vitest";
import { loopTurns } from "../../helpers/loop-turns.ts";
import type { Delivery, EventTypeForm } from "../../../simulator/dashboard/app/core/types.ts";
import { at, attemptAt, deliveryAt } from "./deliveries.ts";
import { Part, show } from "./dom.ts";
import { clockOf, openForms } from "./forms.ts";

/** Components rendered without a browser: what a click, a key or an answer changes. */

const asked: { path: string; body: unknown; answer: (value: unknown, status?: number) => Promise<void> }[] =
  [];
const fetchOfTheTest = (url: string, { body = "null" }: { body?: string } = {}): Promise<Response> =>
  new Promise((resolve) => {
    const answer = async (value: unknown, status = 200) => {
      resolve(Response.json(value, { status }));
      await loopTurns(20);
    };
    asked.push({ path: url.replace("/control", ""), body: JSON.parse(body), answer });
  });

const { page, live, open, key: press } = await openForms();
vi.stubGlobal("fetch", fetchOfTheTest);
const keys = await import("../../../simulator/dashboard/app/core/actions.ts");
const load = await import("../../../simulator/dashboard/app/core/load.ts");
beforeEach(() => void (asked.length = 0));

test("three presses of a step are three steps, each after the answer to the one before, failed or not", async () => {
  const { ClockBar } = await import("../../../simulator/dashboard/app/components/clock-bar.tsx");
  const { root, close, ...view } = await open(h(ClockBar, {}));
  await view.press("+1 min");
  for (const key of ["m", "h"]) await press(key);
  const isBusy = () => root.parts.some(({ attributes }) => attributes.has("aria-busy"));
  expect(isBusy()).toBe(true);
  expect(asked.map(({ body }) => body)).toEqual([{ seconds: 60 }]);
  await asked[0]?.answer({ message: "no" }, 500);
  await asked[1]?.answer(clockOf({ now: at(1) }));
  expect(asked.map(({ body }) => body)).toEqual([{ seconds: 60 }, { seconds: 60 }, { seconds: 3_600 }]);
  await asked[2]?.answer(clockOf({ now: at(61), next_attempt_at: null }));
  expect(live.clock?.now).toBe(at(61));
  await press("unknown");
  expect(isBusy()).toBe(false);
  await close();
  await press("m");
  expect(asked).toHaveLength(3);
});

test("equal requests are sent once, combined with others, and a slow one is counted until it ends", async () => {
  const { control, slowRequests } = await import("../../../simulator/dashboard/app/core/api.ts");
  const { attempt, dismiss, toast, toasts } = await import("../../../simulator/dashboard/app/core/toasts.ts");
  const paths = ["/counts", "/clock", "/counts", "/events?x=1"] as const;
  const all = Promise.allSettled(paths.map((path) => control.get(path)));
  await loopTurns(5);
  const later = attempt(() => control.get("/counts"));
  await loopTurns(5);
  expect(asked.map(({ path }) => path)).toEqual([
    "/many?path=%2Fcounts&path=%2Fclock&path=%2Fevents%3Fx%3D1",
    "/counts",
  ]);
  vi.advanceTimersByTime(2_000);
  expect(slowRequests.get().count).toBe(2);
  await asked[0]?.answer({
    data: [
      { status: 200, body: "counts" },
      { status: 200, body: "clock" },
      { status: 400, body: { message: "no x" } },
    ],
  });
  const [counts, clock, same, failed] = await all;
  expect([counts, clock, same]).toMatchObject(["counts", "clock", "counts"].map((value) => ({ value })));
  expect(failed).toMatchObject({ reason: { status: 400, message: "no x" } });
  await asked[1]?.answer({ message: "no" }, 404);
  expect([await later, slowRequests.get().count]).toEqual([undefined, 0]);
  void control.get("/counts").catch(() => undefined);
  await loopTurns(5);
  await asked[2]?.answer({});
  vi.advanceTimersByTime(2_000);
  expect(slowRequests.get().count).toBe(0);
  for (const text of ["b", "c", "d"]) toast("ok", text);
  const shown = () => toasts.get().map(({ text }) => text);
  expect(shown()).toEqual(["b", "c", "d"]);
  dismiss(toasts.get()[1]?.id ?? 0);
  vi.advanceTimersByTime(5_999);
  expect(shown()).toEqual(["b", "d"]);
  vi.advanceTimersByTime(1);
  expect(shown()).toEqual([]);
});

test("addresses, views and commands keep their meaning with any characters in them", async () => {
  const { hrefTo } = await import("../../../simulator/dashboard/app/core/route.ts");
  const { apiCurl } = await import("../../../simulator/dashboard/app/core/snippets.ts");
  const { saveView, useViews } = await import("../../../simulator/dashboard/app/core/views.ts");
  expect(["/", "/?q=x", "/world"].map(hrefTo)).toEqual(["/dashboard", "/dashboard?q=x", "/dashboard/world"]);
  expect(apiCurl("/a'b'c", "")).toBe(`curl -i \\\n  'http://simulator/a'\\''b'\\''c'`);
  for (const query of ["?q=1", "?q=2"]) saveView(" my   view", query);
  saveView("other", "?q=3");
  expect(localStorage.getItem("views")).toBe("my view\t?q=2\nother\t?q=3");
  const { root, close } = await show(h(() => JSON.stringify(useViews()), {}));
  expect(root.words).toBe('[["my view","?q=2"],["other","?q=3"]]');
  await close();
});

test("only a plain click on a link to another page of the dashboard opens it without a load", async () => {
  const { followLinks } = await import("../../../simulator/dashboard/app/core/route.ts");
  vi.stubGlobal("addEventListener", () => undefined);
  followLinks();
  const click = async (href: string, more = {}) => {
    Object.assign(location, { pathname: "/dashboard", search: "" });
    page.visits.length = 0;
    const link = { href: new URL(href, location.origin).href, target: "" };
    const target = Object.assign(new Part(1, "b"), { closest: () => link });
    await page.tell("click", { target, button: 0, ...more });
    return page.visits.join();
  };
  for (const path of ["/dashboard", "/dashboard?q=x", "/dashboard/world", "/dashboard/docs#rest"])
    expect(await click(path)).toBe(`push ${path}`);
  for (const path of ["/dashboard#main", "/dashboards", "/docs", "http://elsewhere/dashboard/world"])
    expect([path, await click(path)]).toEqual([path, ""]);
  for (const other of ["metaKey", "ctrlKey", "shiftKey", "altKey", "button", "defaultPrevented"])
    expect([other, await click("/dashboard/world", { [other]: 1 })]).toEqual([other, ""]);
});

test("a key triggers the handler of the component shown last, once while it is held, and none in a text field", async () => {
  const done: string[] = [];
  const Keys = ({ name, bound }: { name: string; bound: string[] }) => {
    keys.useKeys(Object.fromEntries(bound.map((key) => [key, () => done.push(`${name} ${key}`)])));
    return null;
  };
  const does = async (key: string, more: object = {}) => {
    done.length = 0;
    await press(key, more);
    return done.join();
  };
  const below = await show(h(Keys, { name: "page", bound: ["r", "j", "e", "mod k", "g e"] }));
  const above = await show(h(Keys, { name: "view", bound: ["r"] }));
  expect([await does("r"), await does("j")]).toEqual(["view r", "page j"]);
  expect([await does("r", { repeat: true }), await does("j", { repeat: true })]).toEqual(["", "page j"]);
  const field = { target: Object.assign(page, { localName: "input" }) };
  expect([await does("r", field), await does("k", { ...field, ctrlKey: true })]).toEqual(["", "page mod k"]);
  page.querySelector = () => page as never;
  expect([await does("r"), await does("k", { metaKey: true })]).toEqual(["", ""]);
  Object.assign(page, { localName: "document", querySelector: () => null });
  expect([await does("r", { altKey: true }), await does("r", { ctrlKey: true })]).toEqual(["", ""]);
  await press("g");
  expect([await does("e"), await does("e")]).toEqual(["page g e", "page e"]);
  await press("g");
  vi.advanceTimersByTime(1_200);
  expect(await does("e")).toBe("page e");
  await below.close();
  expect([await does("r"), await does("j")]).toEqual(["view r", ""]);
  await above.close();
  expect(await does("r")).toBe("");
});

test("loaded data belongs to its key, stays visible during a reload, and is reloaded once after many changes", async () => {
  const calls: { key: string; answer: (value: string) => Promise<void>; fail: () => Promise<void> }[] = [];
  const Loads = ({ name, again }: { name: string; again?: number }): ComponentChild => {
    const read = () => {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const settled = async (settle: () => void) => (settle(), loopTurns(20));
      calls.push({
        key: name,
        answer: (value) => settled(() => resolve(value)),
        fail: () => settled(() => reject(new Error("gone"))),
      });
      return promise;
    };
    const { value, error } = load.useLoaded(name, read, { again, afterMs: 250 });
    return `${value ?? "nothing"}${error === undefined ? "" : `, ${error.message}`}`;
  };
  const { root, again, close } = await show(h(Loads, { name: "a" }));
  await again(h(Loads, { name: "b" }));
  await calls[1]?.answer("of b");
  await calls[0]?.answer("of a, late");
  await again(h(Loads, { name: "b" }));
  expect(root.words).toBe("of b");
  for (const change of [1, 2, 3]) await again(h(Loads, { name: "b", again: change }));
  vi.advanceTimersByTime(249);
  expect(calls).toHaveLength(2);
  vi.advanceTimersByTime(1);
  expect(calls).toHaveLength(3);
  await calls[2]?.fail();
  await again(h(Loads, { name: "b", again: 4 }));
  expect(root.words).toBe("of b, gone");
  vi.advanceTimersByTime(4_000);
  await calls[3]?.answer("of b again");
  await again(h(Loads, { name: "b", again: 5 }));
  expect(root.words).toBe("of b again");
  await again(h(Loads, { name: "c", again: 5 }));
  expect(root.words).toBe("nothing");
  // After a break of the connection everything is loaded anew.
  live.generation += 1;
  await again(h(Loads, { name: "c", again: 5 }));
  expect(calls).toHaveLength(6);
  await close();
  vi.advanceTimersByTime(4_000);
  expect(calls).toHaveLength(6);
});

test("the pages of a list belong to the organization that they were loaded for", async () => {
  const List = ({ apiKey }: { apiKey: string }) =>
    load.useApiPages("/api/v1/calls", apiKey).items.map(({ id }) => id) as never;
  const { root, again } = await show(h(List, { apiKey: "k1" }));
  await act(() => asked[0]?.answer({ data: [{ id: "call_1" }], has_more: false }));
  expect(root.words).toBe("call_1");
  await again(h(List, { apiKey: "k2" }));
  expect([root.words, asked.length]).toEqual(["", 2]);
});

test("a request is sent once its key stops changing, and again while its answer says so and the page is visible", async () => {
  const answers: (number | undefined)[] = [1, undefined, 3];
  const calls: string[] = [];
  const Asks = ({ name }: { name: string }): ComponentChild =>
    load.useLater(
      name,
      100,
      async () => (calls.push(name), answers.shift()),
      (answer) => (answer === 3 ? undefined : 1_000),
    );
  const { root, again, close } = await show(h(Asks, { name: "a" }));
  vi.advanceTimersByTime(99);
  await again(h(Asks, { name: "b" }));
  const wait = async (ms: number) => {
    vi.advanceTimersByTime(ms);
    await loopTurns(20);
    await again(h(Asks, { name: "b" }));
    return [calls.join(), root.words];
  };
  expect(await wait(99)).toEqual(["", ""]);
  expect(await wait(1)).toEqual(["b", "1"]);
  expect(await wait(1_000)).toEqual(["b,b", "1"]);
  expect(await wait(1_000)).toEqual(["b,b,b", "3"]);
  expect(await wait(9_000)).toEqual(["b,b,b", "3"]);
  answers.push(1);
  await again(h(Asks, { name: "c" }));
  await close();
  vi.advanceTimersByTime(9_000);
  expect(calls).toHaveLength(3);
});

test("a row shows how its last attempt ended and what is next", async () => {
  const { FeedRow } = await import("../../../simulator/dashboard/app/components/feed-row.tsx");
  const how = async (more: Partial<Delivery>) => {
    const row = { kind: "delivery", key: "a", delivery: deliveryAt(1, "a", more) } as const;
    const props = { row, query: "?q=x", isChosen: false, isPicked: false, onPick() {} };
    const { byClass } = await open(h(FeedRow, props));
    return ["outcome", "next", "tag tiny"].map((name) => byClass(name).at(-1)?.words).join();
  };
  const attempts = [attemptAt(1, 500)];
  const waiting = { state: "attempting", next_attempt_at: at(5), attempts } as const;
  expect(await how({})).toBe("200 OK,1 ms,");
  expect(await how({ ...waiting, attempts: [], next_attempt_at: at(0) })).toBe("not sent yet,due now,");
  expect(await how({ ...waiting, attempts: [...attempts] })).toBe("500 Server Error,in 5:00,");
  expect(await how({ attempts, state: "dead", resend_of: "b" })).toBe("500 Server Error,gave up,resent");
  expect(await how({ attempts, state: "dead", recovered_by: "b" })).toBe("recovered,500 Server Error,");
});

test("new rows wait above while one reads, until the list changes", async () => {
  const { useHeldRows } = await import("../../../simulator/dashboard/app/pages/live.tsx");
  const row = (key: string) => ({ kind: "delivery", key, delivery: deliveryAt(1, key) }) as const;
  const Held = ({ all, isHeld, list }: { all: string; isHeld: boolean; list: string }): ComponentChild => {
    const { rows, held } = useHeldRows(all.split("").map(row), isHeld, list);
    return `${rows.map(({ key }) => key).join("")} ${held}`;
  };
  const { root, again } = await show(h(Held, { all: "ba", isHeld: true, list: "1" }));
  const then = async (all: string, isHeld: boolean, list = "1") => (
    await again(h(Held, { all, isHeld, list })),
    root.words
  );
  expect([await then("dcba", true), await then("edca", true)]).toEqual(["ba 2", "edca 0"]);
  expect([await then("edcba", false), await then("fedcba", true)]).toEqual(["edcba 0", "edcba 1"]);
  expect(await then("xfedcba", true, "2")).toBe("xfedcba 0");
});

test("the form of an event sends its fields, overridden by the JSON, and shows the same as a command", async () => {
  const { EventForm, fieldsOf, overridesOf } =
    await import("../../../simulator/dashboard/app/components/event-form.tsx");
  const properties = {
    object: { type: "string" },
    notes: { type: "string" },
    reviewed: { type: "boolean" },
    duration_seconds: { type: "integer" },
    transfer_to: {},
  };
  const example = {
    object: "call",
    notes: "n",
    reviewed: true,
    duration_seconds: 1,
    transfer_to: "+1",
    more: 2,
  };
  const schema = { properties };
  const type = { type: "call.completed", emitted_when: "", schema, example } as unknown as EventTypeForm;
  const fields = fieldsOf(type);
  expect(fields.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
    "notes long",
    "reviewed boolean",
    "duration_seconds integer",
    "transfer_to json",
  ]);
  const values = { notes: "1", reviewed: "false", duration_seconds: "30", transfer_to: '{"name":"Ada"}' };
  const object = { notes: "1", reviewed: false, duration_seconds: 30, transfer_to: { name: "Ada" } };
  expect(overridesOf(fields, values, "")).toEqual({ ok: true, object });
  expect(overridesOf(fields, { transfer_to: "Ada" }, '{"transfer_to":"Bo"}')).toEqual({
    ok: true,
    object: { transfer_to: "Bo" },
  });
  for (const wrong of ["[]", "1", "null", "{"]) expect(overridesOf(fields, {}, wrong).ok, wrong).toBe(false);

  const { words, fill, submit } = await open(h(EventForm, { type }));
  await fill("notes", "ring twice");
  expect(words()).not.toContain("--count");
  await fill("How many", "3");
  asked.length = 0;
  await submit();
  expect(asked.map(({ body }) => body)).toEqual([
    { type: "call.completed", count: 3, object: { notes: "ring twice" }, faults: [] },
  ]);
  await act(() => asked[0]?.answer({ error: "full", message: "Too many wait." }, 503));
  expect(words()).toContain("Too many wait.");
  await submit();
  await act(() => asked[1]?.answer({ events: [], deliveries: [] }));
  expect(words()).not.toContain("Too many wait.");
  expect(words()).toContain("trigger call.completed --set 'notes=ring twice' --count 3");
});
