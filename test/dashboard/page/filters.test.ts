import { h } from "preact";
import { expect, test, vi } from "vitest";
import { at, deliveryAt } from "./deliveries.ts";
import { clockOf, endpointOf, openForms } from "./forms.ts";

/** What narrows the list: searches, filters, views, sums and periods. */

const { page, live, answers, wait, open, read, key } = await openForms();
const { HistoryChart, useHistory } =
  await import("../../../simulator/dashboard/app/components/feed-around.tsx");
const { Filters } = await import("../../../simulator/dashboard/app/components/feed-filters.tsx");
const { CauseSum, StateTabs, useSums, VerdictSum } =
  await import("../../../simulator/dashboard/app/components/feed-sums.tsx");
const { NO_FILTERS, useHighlight } = await import("../../../simulator/dashboard/app/core/filters.ts");
const { picked } = await import("../../../simulator/dashboard/app/core/picked.ts");
const { LivePage } = await import("../../../simulator/dashboard/app/pages/live.tsx");

test("searched words are marked wherever they are, and a phone number in any notation from seven digits on", async () => {
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
});

test("a list is narrowed by one period at a time, and a view is kept and forgotten by its name", async () => {
  const changes: object[] = [];
  live.endpoints = new Map([["ep_1", endpointOf()]]);
  const show = (filters: object, isPaused = false) =>
    h(Filters, {
      searchRef: null,
      isPaused,
      onPause() {},
      filters: { ...NO_FILTERS, ...filters },
      onChange: (next: object) => changes.push(next),
    });
  const view = await open(show({ q: "x", since: at(0), until: at(1) }));
  for (const period of ["gave_up_since 1h", "since 24h", ""]) await view.choose("Time", period);
  const asked = { ...NO_FILTERS, q: "x" };
  await view.choose("Endpoint", "ep_1");
  const own = { ...asked, since: at(0), until: at(1), endpoint: "ep_1" };
  expect(changes).toEqual([{ ...asked, gave_up_since: "1h" }, { ...asked, since: "24h" }, asked, own]);
  const isOwn = async (filters: object) => {
    await view.again(show(filters, true));
    return view.words().includes("a time of your own");
  };
  expect([await isOwn({ since: "1h", until: at(1) }), await isOwn({ since: "1h" })]).toEqual([true, false]);
  expect(view.button("Resume").attributes.get("aria-pressed")).toBe("true");
  await view.again(show({ state: "dead" }));
  expect(view.button("Pause").attributes.get("aria-pressed")).toBe("false");
  const options = () =>
    view
      .all("option")
      .join()
      .replace(/^.*24 hours,/, "");
  await view.choose("Views", " save");
  await view.fill("Name", " ");
  expect(view.button("Save").disabled).toBe(true);
  await view.fill("Name", "Mine");
  await view.submit();
  expect([options(), page.kept.get("views")]).toEqual(["Views,Mine,Forget this view", "Mine\t?state=dead"]);
  await view.again(show({}));
  await view.choose("Views", "Mine");
  expect([options(), page.visits]).toEqual(["Views,Mine", ["push /dashboard?state=dead"]]);
  await view.again(show({ state: "dead" }));
  await view.choose("Views", " forget");
  expect([options(), page.kept.get("views")]).toEqual(["Views,Save this view…", ""]);
});

test("sums are counted for what is chosen, and the causes are the most frequent and the chosen one", async () => {
  const causes = ["timed_out", "refused", "too_large", "redirected", "not_http", "tls_failed"];
  const endings = causes.map((cause, n) => ({ state: "dead", verdict: "not", cause, count: 10 - n }));
  answers["/counts"] = {
    endings: [...endings, { state: "delivered", verdict: "ok", cause: null, count: 1_000 }],
  };
  answers["/counts?state=lost"] = { endings: endings.slice(0, 1) };
  const changes: object[] = [];
  const Sums = ({ filters }: { filters: typeof NO_FILTERS }) => {
    const more = { filters, sums: useSums(filters), onChange: (next: object) => changes.push(next) };
    return [
      h(StateTabs, more),
      h("p", {}, `total ${more.sums?.total}`),
      h(VerdictSum, more),
      h(CauseSum, more),
    ];
  };
  const show = async (more: object) => {
    const view = await open(h(Sums, { filters: { ...NO_FILTERS, ...more } }));
    return {
      ...view,
      figures: view
        .all("button")
        .map((words) => words.match(/[\d,]+|Still/)?.[0])
        .join(" "),
    };
  };
  expect((await show({})).figures).toBe("1,045 0 1,000 45 1,000 45 10 9 8 7 2");
  const rare = await show({ state: "dead", cause: "tls_failed" });
  expect([rare.figures, rare.words().includes("total 5")]).toEqual(["5 0 0 5 Still 5 10 9 8 7 5 1", true]);
  await rare.press("5 The TLS connection failed, and nothing was sent");
  await rare.press("10 No answer came in time");
  await rare.press("5 not right");
  const chosen = { ...NO_FILTERS, state: "dead" };
  const others = [{ cause: "timed_out" }, { cause: "tls_failed", verdict: "not" }];
  expect(changes).toEqual([chosen, ...others.map((more) => ({ ...chosen, ...more }))]);
  expect(await read(h(Sums, { filters: { ...NO_FILTERS, state: "lost" } }))).toContain("total 10");
  live.clock = clockOf({ verdicts: { is_observed: false, counts: [] } });
  const lost = await show({ state: "lost", verdict: "unknown" });
  for (const words of ["Still lost", "0 undecidable", "judged by answers only"])
    expect(lost.words()).toContain(words);
  const whole = await show({});
  await whole.press("2 more");
  expect(whole.words()).toContain("5 The TLS connection failed");
});

test("the history names a slot by its beginning and end, and puts the failed above the acknowledged", async () => {
  const slot = (minute: number, sent: number, failed: number, longest_ms: number | null) => {
    return { started_at: at(minute), sent, acknowledged: sent - failed, failed, longest_ms };
  };
  const history = { slot_seconds: 60, slots: [slot(0, 4, 1, 1_500), slot(1, 0, 0, null)] } as never;
  const zooms: string[][] = [];
  const view = await open(h(HistoryChart, { history, onZoom: (...times: string[]) => zooms.push(times) }));
  await view.root.parts.find(({ localName }) => localName === "g")?.tell("click");
  expect(zooms).toEqual([[at(0), at(1)]]);
  const bars = ["bar ok", "bar failed"].map((name) => view.byClass(name)[0]?.attributes);
  expect(bars.map((bar) => [bar?.get("y"), bar?.get("height")].join())).toEqual(["8,24", "0,8"]);
  expect(view.byClass("bar ok")[1]?.attributes.get("x")).toBe("300");
  view.field("4 attempts: 3 acknowledged, 1 failed; the slowest answer took 1.5 s");
  answers["/history?since=1h&endpoint_id=ep_1&type=a.b"] = { slot_seconds: 7 };
  const filters = { ...NO_FILTERS, since: "1h", endpoint: "ep_1", type: "a.b", state: "dead" };
  expect(await read(h(() => useHistory(filters)?.slot_seconds as never, {}))).toBe("7");
});
