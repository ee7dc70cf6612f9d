import { h } from "preact";
import { act } from "preact/test-utils";
import { expect, test, vi } from "vitest";
import { Part, show } from "./dom.ts";
import { clockOf, endpointOf, openForms } from "./forms.ts";

/** What is around each page: its frame, keys and links. */

const { page, live, wait, open, read, key } = await openForms();
const { roam, Segments } = await import("../../../simulator/dashboard/app/components/button.tsx");
const { Shell } = await import("../../../simulator/dashboard/app/components/shell.tsx");
const { useKeys } = await import("../../../simulator/dashboard/app/core/actions.ts");
const { slowRequests } = await import("../../../simulator/dashboard/app/core/api.ts");
const { setReach, useLive } = await import("../../../simulator/dashboard/app/core/live.ts");
const { followLinks, hrefTo } = await import("../../../simulator/dashboard/app/core/route.ts");
const { apiCurl } = await import("../../../simulator/dashboard/app/core/snippets.ts");
const { toast } = await import("../../../simulator/dashboard/app/core/toasts.ts");
const { saveView, useViews } = await import("../../../simulator/dashboard/app/core/views.ts");

test("the frame says where one is, what needs a look, and whether the simulator answers", async () => {
  live.clock = clockOf({ deliveries: { attempting: 1_000, delivered: 0, dead: 0 } });
  live.endpoints = new Map(["a", "b"].map((id) => [id, endpointOf({ id, flagged: id === "b" })]));
  live.problem = "It cannot.";
  const frame = (path = "/") => h(Shell, { path, children: [] });
  const view = await open(frame());
  const current = async (path: string) => {
    await view.again(frame(path));
    const links = view.root.parts.filter(({ attributes }) => attributes.get("aria-current") === "page");
    return links.map((link) => link.attributes.get("title")).join();
  };
  for (const path of ["/", "/deliveries/dlv_1", "/events/evt_1"]) expect(await current(path)).toBe("Live");
  for (const path of ["/endpoints", "/endpoints/ep_1"]) expect(await current(path)).toBe("Endpoints");
  expect([await current("/docs"), await current("/endpointsx")]).toEqual(["API docs", ""]);
  expect(view.byClass("badge").map(({ words }) => words)).toEqual([
    "999+ deliveries in progress",
    "1 endpoints failing",
  ]);
  const states: unknown[] = [];
  for (const [connection, count] of [
    ["connecting", 0],
    ["open", 0],
    ["open", 1],
    ["lost", 1],
  ] as const) {
    live.connection = connection;
    slowRequests.set({ count });
    await view.again(frame());
    states.push([view.byClass("connection")[0]?.words, view.words().includes("It cannot.")]);
  }
  const words = ["Connecting…", "Live", "Waiting…", "Reconnecting…"];
  expect(states).toEqual(words.map((state, n) => [state, n === 1 || n === 2]));
  slowRequests.set({ count: 0 });
  Object.assign(live, { connection: "connecting", problem: undefined });
  toast("ok", "Sent.", { href: "/dashboard", words: "Watch it" });
  await wait();
  expect(view.words()).toContain("Sent.Watch it");
  await view.press("Dismiss");
  expect(view.words()).not.toContain("Sent.");
  for (const [name, ctrlKey, title] of [
    ["?", false, "Keyboard shortcuts"],
    ["k", true, "Go to, or do"],
  ] as const) {
    await key(name, { ctrlKey });
    expect(view.all("dialog").join()).toContain(title);
    await view.again(frame());
  }
  for (const name of ["g", "e", "g", "d"]) await key(name);
  expect(page.visits).toEqual(["push /dashboard/endpoints", "push /dashboard/docs"]);
  for (const theme of ["light", "dark", "auto"]) {
    await key("d");
    const { dataset } = document.documentElement;
    expect([localStorage.getItem("theme"), dataset["theme"]]).toEqual([theme, theme]);
  }
});

test("what changes is shown once a frame, and in a hidden tab after a moment", async () => {
  const frames: (() => void)[] = [];
  vi.stubGlobal("requestAnimationFrame", (frame: () => void) => frames.push(frame));
  const view = await open(h(() => String(useLive().reachMs), {}));
  await wait(150);
  Object.assign(document, { visibilityState: "visible" });
  for (const reach of [1, 2]) setReach(reach);
  frames.splice(1).forEach(() => expect.fail("two frames"));
  await act(() => frames[0]?.());
  expect(view.words()).toBe("2");
  setReach(3);
  expect(frames).toHaveLength(2);
  await act(() => frames[1]?.());
  Object.assign(document, { visibilityState: "hidden" });
  setReach(undefined);
  await wait(149);
  expect([frames.length, view.words()]).toEqual([2, "3"]);
  await wait(1);
  expect(view.words()).toBe("undefined");
});

test("a key triggers the handler of the component shown last, once while it is held, and none in a text field", async () => {
  const done: string[] = [];
  const Keys = ({ name, bound }: { name: string; bound: string[] }) => {
    useKeys(Object.fromEntries(bound.map((key) => [key, () => done.push(`${name} ${key}`)])));
    return null;
  };
  const does = async (name: string, more: object = {}) => {
    done.length = 0;
    await key(name, more);
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
  await key("g");
  expect([await does("e"), await does("e")]).toEqual(["page g e", "page e"]);
  await key("g");
  vi.advanceTimersByTime(1_200);
  expect(await does("e")).toBe("page e");
  await below.close();
  expect([await does("r"), await does("j")]).toEqual(["view r", ""]);
  await above.close();
  expect(await does("r")).toBe("");
});

test("only a plain click on a link to another page of the dashboard opens it without a load", async () => {
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

test("arrows go around a group of buttons, of which one is reached by Tab", async () => {
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
    const states = [view.having("aria-pressed").join(), view.having("tabindex").indexOf("0")];
    expect(states).toEqual([on, value === "b" ? 1 : 0]);
  }
});

test("addresses, views and commands keep their meaning with any characters in them", async () => {
  expect(["/", "/?q=x", "/world"].map(hrefTo)).toEqual(["/dashboard", "/dashboard?q=x", "/dashboard/world"]);
  expect(apiCurl("/a'b'c", "")).toBe(`curl -i \\\n  'http://simulator/a'\\''b'\\''c'`);
  for (const query of ["?q=1", "?q=2"]) saveView(" my   view", query);
  saveView("other", "?q=3");
  expect(localStorage.getItem("views")).toBe("my view\t?q=2\nother\t?q=3");
  expect(await read(h(() => JSON.stringify(useViews()), {}))).toBe('[["my view","?q=2"],["other","?q=3"]]');
});
