import { type ComponentChild, h } from "preact";
import { act } from "preact/test-utils";
import { expect, test, vi } from "vitest";
import type { AttemptDetail, Check, Delivery } from "../../../simulator/dashboard/app/core/types.ts";
import { at, attemptAt, deliveryAt } from "./deliveries.ts";
import { clockOf, endpointOf, NO_SIGNATURE, openForms } from "./forms.ts";

/** The words, figures and marks on a page, for each state of the data. */

const { page, live, answers, wait, open, sent, key } = await openForms();
const read = async (component: ComponentChild) => (await open(component)).words();

const check = (id: string, outcome: string, level = "must", hint?: string) =>
  ({ id, title: id, outcome, level, hint }) as Check;

test("a report says its verdict, and what failed before advice, the fix for most of it first", async () => {
  const { Report } = await import("../../../simulator/dashboard/app/components/report.tsx");
  const checks = [
    [check("p", "passed"), check("a", "failed", "advice", "advise"), check("u", "unverified")],
    [check("f1", "failed", "must", "one"), check("f2", "failed", "must", "most")],
    [check("f3", "failed", "must", "most"), check("n", undefined as never)],
  ].flat();
  const about = { checks, url: "u", seed: "s", duration_ms: 61_230, incomplete: null };
  const show = (verdict: string | null) =>
    h(Report, { report: { ...about, verdict } as never, children: null });
  const view = await open(show("failed"));
  expect(view.all("h2")).toEqual(["Failed", "Advice not followed", "Could not be judged", "Passed"]);
  const rows = view.byClass("check-row").map(({ attributes, parts }) => {
    const word = parts.findLast((part) => part.attributes.get("class")?.startsWith("chip"))?.words;
    return `${parts.find(({ localName }) => localName === "b")?.words} ${attributes.get("class")}: ${word}`;
  });
  expect(rows).toEqual([
    ...["f2", "f3", "f1"].map((id) => `${id} check-row bad: failed`),
    "a check-row wait: advice",
    ...["u", "n"].map((id) => `${id} check-row plain: not judged`),
    "p check-row ok: passed",
  ]);
  for (const words of ["2 checks, one fix: most", "61.2 s · seed s"]) expect(view.words()).toContain(words);
  await view.press("1 advice");
  expect(view.byClass("check-row")).toHaveLength(1);
  for (const [verdict, words] of Object.entries({
    passed: "The receiver passed",
    failed: "The receiver failed",
    could_not_run: "Nothing could be verified",
    incomplete: "The run did not finish",
  })) {
    await view.again(show(verdict));
    expect(view.byClass("report-verdict")[0]?.words).toContain(`${words}u`);
  }
  await view.again(show(null));
  expect(view.byClass("report-verdict")).toEqual([]);
});

test("only what a receiver must do is run again, and a run says how long it has lasted", async () => {
  const { VerifyPage } = await import("../../../simulator/dashboard/app/pages/verify.tsx");
  const checks = [check("f1", "failed"), check("a", "failed", "advice"), check("p", "passed")];
  const run = { id: "vrf_1", endpoint_id: "ep_1", url: "http://x", verdict: "failed", seed: "s", checks };
  const show = async (more: object) => {
    answers["/verification"] = { verification: { ...run, ...more } };
    const view = await open(h(VerifyPage, {}));
    await wait(150);
    return view;
  };
  const ended = await show({ state: "ended" });
  await ended.press("Run the 1 failed again");
  expect(sent).toEqual([["POST", "/endpoints/ep_1/verify", { only: ["f1"] }]]);
  await ended.close();
  const started_at = new Date(Date.now() - 61_500).toISOString();
  const running = await show({ state: "running", verdict: null, done: 0, total: 90, started_at });
  expect(running.words()).toContain("0 of 90, 1 min 1 s: no answer yet");
  await running.press("Cancel");
  expect(sent.at(-1)?.[1]).toBe("/verification/cancel");
  await running.close();
});

test("a verdict says how often an event was handled, and a state has its own colour", async () => {
  const { Countdown, StateChip, VerdictLine } =
    await import("../../../simulator/dashboard/app/components/chips.tsx");
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
  const { scheduleNowMs } = await import("../../../simulator/dashboard/app/core/live.ts");
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

test("the six slots say what was, what is next, and what comes only if all before fail", async () => {
  const { Timeline } = await import("../../../simulator/dashboard/app/components/timeline.tsx");
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

test("a body is shown in lines or as it came, and a signature by its age on either side", async () => {
  const { BodyView } = await import("../../../simulator/dashboard/app/components/code-view.tsx");
  const { SignatureView } = await import("../../../simulator/dashboard/app/components/signature-view.tsx");
  const body = await open(h(BodyView, { text: '{"é":1}', label: "Body" }));
  const code = () => body.byClass("code")[0]?.words;
  expect([code(), body.words().includes("8 bytes")]).toEqual(['{\n  "é": 1\n}', true]);
  await body.press("Raw");
  expect(code()).toBe('{"é":1}');
  for (const [age, words] of [
    [300, "When sent, t was 5 min old. Up to 300 s"],
    [301, "When sent, t was 5 min 1 s old. A receiver refuses more than 300 s"],
    [-300, "When sent, t was 5 min in the future. Up to 300 s"],
    [-301, "When sent, t was 5 min 1 s in the future. A receiver refuses more than 300 s"],
    [0, "It was signed in the second it was sent. Up to 300 s"],
  ] as const) {
    const own = { header: "t=1", t: "1", v1: ["x"], problem: null, matches: true, age_at_send_seconds: age };
    const attempt = { signature: { ...NO_SIGNATURE, ...own, tolerance_seconds: 300 } } as never;
    expect(await read(h(SignatureView, { attempt }))).toContain(words);
  }
  const made = { ...NO_SIGNATURE, header: "t=1", t: "86400", v1: ["x"], problem: null, verdict: "accepted" };
  for (const [more, tones, words] of [
    [{ matches: true }, "good,good,good,good", "t is 86400 (Fri, 2 Jan 1970, 05:30:00); there is one v1"],
    [{ matches: false, verdict: "no_match" }, "good,good,wrong,good", "The digest under the secret differs"],
    [{ matches: null, verdict: null }, "good,good,unknown,good", "the endpoint and its secret were deleted"],
    [
      { problem: "header_missing", matches: null },
      "wrong,wrong,unknown,good",
      "It is invalid: header missing.",
    ],
  ] as const) {
    const attempt = {
      signature: { ...made, age_at_send_seconds: 0, tolerance_seconds: 300, ...more },
    } as never;
    const view = await open(h(SignatureView, { attempt }));
    const steps = view
      .byClass("verdict-mark")
      .map(({ attributes }) => attributes.get("class")?.split(" ")[2]);
    expect([steps.join(), view.words()]).toEqual([tones, expect.stringContaining(words)]);
  }
});

test("an attempt says what happened and what to do, and a failure on purpose is not the receiver's", async () => {
  const { AttemptView } = await import("../../../simulator/dashboard/app/components/attempt-view.tsx");
  const base = { ...attemptAt(1, 500), blame: "receiver", request: { body: "", headers: {} }, answer: null };
  const failed = "The receiver failed with a server error. Read the receiver's log";
  for (const [words, more] of [
    [failed, {}],
    [failed, { fault: "drop-answer" }],
    ["Failed on purpose (drop-answer)", { fault: "drop-answer", blame: "simulator" }],
    ["Acknowledged: a 2xx", { http_status: 204, blame: null }],
    ["No answer came in time. Store the event", { http_status: null, error: "timeout" }],
    ["Under way: the receiver has 10 seconds", { ended_at: null }],
  ] as const) {
    const attempt = { ...base, signature: NO_SIGNATURE, ...more } as unknown as AttemptDetail;
    expect(await read(h(AttemptView, { attempt }))).toContain(words);
  }
});

test("a card rounds neither to all nor to none, and names an old secret while it signs", async () => {
  const { EndpointCard } = await import("../../../simulator/dashboard/app/components/endpoint-card.tsx");
  const attempts = [{ ...attemptAt(1, 200), delivery_id: "dlv_1" }];
  const shares = { "0/0": "–", "0/3": "0 %", "1/3": "33 %", "1/200": "< 1 %", "5/5": "100 %" };
  const nearly = { "1999/2000": "99.9 %", "9999/10000": "99.9 %" };
  for (const [of, share] of Object.entries({ ...shares, ...nearly })) {
    const [acknowledged, counted] = of.split("/").map(Number);
    answers["/endpoints/ep_1/answers"] = { attempts, counted, acknowledged, p95_ms: 1_500 };
    const { words, close } = await open(h(EndpointCard, { endpoint: endpointOf() }));
    expect(words()).toContain(`Acknowledged${share}p951.5 sLast answer200 OK`);
    await close();
  }
  const old = { previous_secret_until: at(60), previous_secret_last4: "late", consecutive_failures: 2 };
  for (const minute of [59, 60]) {
    live.clock = clockOf({ now: at(minute) });
    const { words, close } = await open(h(EndpointCard, { endpoint: endpointOf(old) }));
    expect(words().includes("and ••••late until")).toBe(minute === 59);
    expect(words()).toContain("2 failures in a row");
    await close();
  }
});

test("failing endpoints come first, and many of them in pages, by what one searches for", async () => {
  const { EndpointsPage } = await import("../../../simulator/dashboard/app/pages/endpoints.tsx");
  const show = (count: number) => {
    const named = (n: number) => endpointOf({ id: `ep_${n}`, name: `n${n}`, flagged: n === 15 });
    live.endpoints = new Map(Array.from({ length: count }, (_, n) => [`ep_${n}`, named(n)]));
    return open(h(EndpointsPage, { query: new URLSearchParams() }));
  };
  for (const [count, turns, words, first] of [
    [20, 0, "1 to 10 of 20", "n15,n0"],
    [20, 1, "11 to 20 of 20", "n9,n10"],
    [21, 2, "21 to 21 of 21", "n20"],
  ] as const) {
    const view = await show(count);
    for (let turn = 0; turn < turns; turn += 1) await view.press("Next");
    const heads = view.all("h2").map((name) => name.trim());
    const names = heads.slice(0, 2).join();
    expect(view.words()).toContain(words);
    expect([names, view.button("Next").disabled]).toEqual([first, turns > 0]);
    await view.close();
  }
  const view = await show(21);
  for (const button of ["Next", "Next"]) await view.press(button);
  live.endpoints = new Map([...(live.endpoints ?? [])].slice(0, 20));
  await view.again(h(EndpointsPage, { query: new URLSearchParams() }));
  expect(view.words()).toContain("11 to 20 of 20");
  await view.fill("Search endpoints", "Failing N15");
  expect(view.words()).toContain("1 to 1 of 1");
  await view.close();
});

test("sums are counted for what is chosen, and the causes are the most frequent and the chosen one", async () => {
  const { CauseSum, StateTabs, useSums, VerdictSum } =
    await import("../../../simulator/dashboard/app/components/feed-sums.tsx");
  const { NO_FILTERS } = await import("../../../simulator/dashboard/app/core/filters.ts");
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
  const { HistoryChart, useHistory } =
    await import("../../../simulator/dashboard/app/components/feed-around.tsx");
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
  const { NO_FILTERS } = await import("../../../simulator/dashboard/app/core/filters.ts");
  answers["/history?since=1h&endpoint_id=ep_1&type=a.b"] = { slot_seconds: 7 };
  const filters = { ...NO_FILTERS, since: "1h", endpoint: "ep_1", type: "a.b", state: "dead" };
  expect(await read(h(() => useHistory(filters)?.slot_seconds as never, {}))).toBe("7");
});

test("the frame says where one is, what needs a look, and whether the simulator answers", async () => {
  const { Shell } = await import("../../../simulator/dashboard/app/components/shell.tsx");
  const { slowRequests } = await import("../../../simulator/dashboard/app/core/api.ts");
  const { toast } = await import("../../../simulator/dashboard/app/core/toasts.ts");
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
  await view.close();
});

test("what changes is shown once a frame, and in a hidden tab after a moment", async () => {
  const { setReach, useLive } = await import("../../../simulator/dashboard/app/core/live.ts");
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
