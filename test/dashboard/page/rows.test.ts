import { type ComponentChild, h } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import type { Delivery } from "../../../simulator/dashboard/app/core/types.ts";
import { timeOf } from "../../../simulator/dashboard/app/core/words.ts";
import type { ListHandle } from "../../../simulator/dashboard/app/components/windowed-list.tsx";
import { at, attemptAt, deliveryAt } from "./deliveries.ts";
import { show } from "./dom.ts";
import { classOf, clockOf, endpointOf, openForms } from "./forms.ts";

/** The rows of the list: what each shows, and which of them are rendered; where there are none, receivers. */

const { page, live, answers, sent, wait, open } = await openForms();
const { FeedEnd } = await import("../../../simulator/dashboard/app/components/feed-around.tsx");
const { EmptyFeed } = await import("../../../simulator/dashboard/app/components/feed-empty.tsx");
const { FeedRow } = await import("../../../simulator/dashboard/app/components/feed-row.tsx");
const { newSecret } = await import("../../../simulator/dashboard/app/components/secret-once.tsx");
const { WindowedList } = await import("../../../simulator/dashboard/app/components/windowed-list.tsx");
const { EndpointsPage } = await import("../../../simulator/dashboard/app/pages/endpoints.tsx");
const { useHeldRows } = await import("../../../simulator/dashboard/app/pages/live.tsx");

test("a row shows where it went, by whose fault, how far it is, and that it is new, chosen or within reach", async () => {
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

test("a row shows how its last attempt ended and what is next", async () => {
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

test("a long list renders what is in view, with some rows around, and says when its end or its top is near", async () => {
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

test("new rows wait above while one reads, until the list changes", async () => {
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

test("a found receiver is registered, another asks for its path, and what is not HTTP is left", async () => {
  answers["/listeners"] = { data: [{ host: "127.0.0.1", port: 3000 }] };
  const view = await open(h(EmptyFeed, {}));
  const [url, register] = ["http://a/b", [["POST", "/endpoints", { url: "http://a/b" }]]];
  for (const finding of ["refuses_unsigned", "takes_unsigned", "fails", "no_path", "not_http"]) {
    answers["/listeners/probe"] = { finding, url, sentence: `It is ${finding}.` };
    await view.press(":3000");
    await wait();
    expect(view.words()).toContain("Listening on this machine: press your receiver's port.");
    const [found, ...others] = view
      .byClass("toned")
      .map((part) => [part.words, part.attributes.get("class")]);
    const tone = finding === "refuses_unsigned" ? "ok" : "wait";
    expect([found, others]).toEqual([[`It is ${finding}.`, `toned ${tone}`], []]);
    const [asked, ...more] = sent.splice(0);
    expect(asked).toEqual(["POST", "/listeners/probe", { port: 3_000 }]);
    expect(more).toEqual(finding.startsWith("no") ? [] : register);
    expect(newSecret.get()?.isTested).toBe(finding.startsWith("no") ? undefined : true);
    newSecret.set(undefined);
  }
  expect(page.visits).toEqual(["push /dashboard/endpoints?new&url=http%3A%2F%2Fa%2Fb"]);
  await view.close();
  answers["/listeners/probe"] = { finding: "no_path", url: "http://c/d", sentence: "" };
  const form = await open(h(EndpointsPage, { query: new URLSearchParams("new&url=http%3A%2F%2Fa%2Fb") }));
  await form.submit();
  await form.press(":3000");
  await form.submit();
  const registered = sent.flatMap(([, path, body]) =>
    path === "/endpoints" ? [(body as { url: string }).url] : [],
  );
  expect(registered).toEqual(["http://a/b", "http://c/d"]);
});
