import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  apiQuery,
  filterQuery,
  NO_FILTERS,
  offersFor,
  passes,
  readFilters,
} from "../../../simulator/dashboard/app/core/filters.ts";
import { NOTHING_PICKED, pick, pickListed } from "../../../simulator/dashboard/app/core/picked.ts";
import { ranked } from "../../../simulator/dashboard/app/core/ranking.ts";
import { attemptTone, sinceStartWords, slotsOf } from "../../../simulator/dashboard/app/core/schedule.ts";
import { sumsOf } from "../../../simulator/dashboard/app/core/sums.ts";
import { at, attemptAt, deliveryAt } from "./deliveries.ts";

describe.each([
  ["America/New_York", "20:30:00", "20 Nov"],
  ["UTC", "01:30:00", "21 Nov"],
  ["Asia/Kolkata", "07:00:00", "21 Nov"],
])("in %s", (zone, time, day) => {
  const NIGHT = "2026-11-21T01:30:00.000Z";
  const before = process.env["TZ"];
  beforeEach(() => {
    process.env["TZ"] = zone;
    vi.resetModules();
  });
  afterEach(() => {
    if (before === undefined) delete process.env["TZ"];
    else process.env["TZ"] = before;
  });

  test("a time is shown in the reader's time zone, with its day if that is not today", async () => {
    const { dayAndTimeOf, fullTimeOf, momentOf, timeOf } =
      await import("../../../simulator/dashboard/app/core/words.ts");
    expect(timeOf(NIGHT)).toBe(time);
    expect(dayAndTimeOf(NIGHT)).toBe(`${day} ${time}`);
    expect(fullTimeOf(NIGHT)).toContain(day);
    expect(momentOf(NIGHT, Date.parse(NIGHT) + 60_000)).toBe(time);
    expect(momentOf(NIGHT, Date.parse(NIGHT) + 30 * 3_600_000)).toBe(`${day} ${time}`);
    expect(momentOf(NIGHT, "2026-12-21T01:30:00.000Z")).toBe(`${day} ${time}`);
    // Midnight in the reader's time zone.
    const [hour = 0] = time.split(":").map(Number);
    const midnightMs =
      Date.parse(NIGHT) + (24 - hour) * 3_600_000 - 30 * 60_000 * (zone === "Asia/Kolkata" ? 0 : 1);
    expect(momentOf(NIGHT, midnightMs - 1_000)).toBe(time);
    expect(momentOf(NIGHT, midnightMs + 1_000)).toBe(`${day} ${time}`);
  });
});

test("remaining times and durations are shown to the second", async () => {
  const { countdownOf, millisecondsOf, secondsOf } =
    await import("../../../simulator/dashboard/app/core/words.ts");
  const lefts = [59_001, 60_000, 3_599_000, 3_600_000, 86_400_000 * 2 + 1_000, -5].map(countdownOf);
  expect(lefts.join()).toBe("1:00,1:00,59:59,1:00:00,2 d 00:00:01,0:00");
  expect([0.4, 999, 1_000, null].map(millisecondsOf)).toEqual(["0 ms", "999 ms", "1.0 s", ""]);
  expect([59, 60, 61].map(secondsOf)).toEqual(["59 s", "1 min", "1 min 1 s"]);
});

test("filters survive in the address, and unknown ones are left out", () => {
  const filters = { ...NO_FILTERS, q: "a b&c", state: "dead", gave_up_since: "1h" };
  expect(readFilters(new URLSearchParams(filterQuery(filters)))).toEqual(filters);
  const known = readFilters(new URLSearchParams("state=dead&resend&toString=x"));
  expect(known).toEqual({ ...NO_FILTERS, state: "dead" });
  expect(apiQuery({ ...NO_FILTERS, q: " x ", endpoint: "ep_1" })).toBe("&q=x&endpoint_id=ep_1");
});

test("a search suggests its fields, then the values of a field, after the typed text", () => {
  expect(offersFor("needle gave_up_a", [])).toEqual(["needle gave_up_after:"]);
  expect(offersFor("type:o", ["order.created", "call.completed"])).toEqual(["type:order.created"]);
  expect(offersFor("cause:timed", [])).toEqual(["cause:timed_out"]);
});

test("rows are chosen one by one, by a range in either direction, and all that are listed", () => {
  const listed = ["a", "b", "c", "d", "e"];
  const one = pick(NOTHING_PICKED, listed, "d");
  const range = pick(one, listed, "b", true);
  expect(range.ids.toSorted()).toEqual(["b", "c", "d"]);
  expect(pick(one, listed, "e", true).ids.toSorted()).toEqual(["d", "e"]);
  expect(pick(range, listed, "c").ids.toSorted()).toEqual(["b", "d"]);
  // A range starts anew if its first row is no longer listed.
  expect(pick(one, ["a", "b"], "b", true).ids).toEqual(["d", "b"]);
  expect(pickListed(one, listed).ids).toEqual(listed);
  expect(pickListed(pickListed(one, listed), listed)).toEqual(NOTHING_PICKED);
  // Deselecting one of "all" leaves the other listed rows selected.
  const others = pick({ ...NOTHING_PICKED, isAll: true }, listed, "a");
  expect(others).toMatchObject({ ids: ["b", "c", "d", "e"], isAll: false });
});

test("counts follow all filters but their own, and add up", () => {
  const endings = [
    { state: "delivered", verdict: "ok", cause: null, count: 5 },
    { state: "dead", verdict: "not", cause: "timed_out", count: 3 },
    { state: "attempting", verdict: "not", cause: "timed_out", count: 2 },
    { state: "dead", verdict: "not", cause: "server_error", count: 1 },
  ];
  const sums = (wanted: object) => sumsOf(endings, endings, { state: "", verdict: "", cause: "", ...wanted });
  const all = sums({});
  const total = (name: "state" | "verdict" | "cause") =>
    all
      .by(name)
      .values()
      .reduce((sum, count) => sum + count, 0);
  expect([total("state"), total("verdict"), total("cause")]).toEqual(Array(3).fill(all.total));
  const dead = sums({ state: "dead" });
  expect(dead.total).toBe(4);
  expect(Object.fromEntries(dead.by("cause"))).toEqual({ timed_out: 3, server_error: 1 });
  expect(dead.by("state").get("delivered")).toBe(5);
  expect(sums({ state: "dead", cause: "timed_out" }).by("cause").get("server_error")).toBe(1);
  // Lost deliveries are counted separately, next to the total of each state.
  const lost = sumsOf(endings, [endings[3]!], { state: "", verdict: "", cause: "" });
  expect([lost.total, lost.by("state").get("delivered"), lost.by("cause").size]).toEqual([1, 5, 1]);
});

test("the palette lists matches at the beginning first, then its own words, then synonyms", () => {
  const choices = [
    { words: "Go to Endpoints", also: "receivers" },
    { words: "Do not recover", also: "" },
    { words: "Recover what was lost" },
    { words: "Precise" },
    { words: "Nothing" },
  ];
  const found = (typed: string) =>
    ranked(choices, typed)
      .map(({ words }) => words)
      .join();
  expect(found("rec")).toBe("Recover what was lost,Do not recover,Go to Endpoints,Precise");
  expect(found("go rec")).toBe("Go to Endpoints");
  expect(ranked(choices, "")).toHaveLength(5);
});

test("a delivery is matched by its own fields; the simulator decides the rest", () => {
  const verdict = { ...deliveryAt(1, "a").verdict, result: "not", cause: "timed_out" } as const;
  const delivery = deliveryAt(1, "a", { state: "dead", verdict });
  const answer = (filters: object) => passes({ ...NO_FILTERS, ...filters }, delivery);
  const own = { endpoint: "ep_1", type: "call.completed", state: "dead", verdict: "not", cause: "timed_out" };
  expect(answer({})).toBe("yes");
  expect(answer(own)).toBe("yes");
  for (const name of Object.keys(own)) expect(answer({ ...own, [name]: "other" }), name).toBe("no");
  for (const more of [{ q: "x" }, { since: "1h" }, { until: "1h" }, { gave_up_since: "1h" }]) {
    expect(answer(more)).toBe("maybe");
    expect(answer({ ...more, type: "order.created" })).toBe("no");
  }
  for (const state of ["lost", "failed"]) {
    expect(answer({ state })).toBe("maybe");
    expect(answer({ state, type: "order.created" })).toBe("no");
  }
});

test("each slot is due after the one before ended, and says how it ended", () => {
  const first = { ...attemptAt(0, 500), ended_at: at(2) };
  const onPurpose = { ...attemptAt(3, 500), number: 2, blame: "simulator" } as const;
  const attempts = [first, onPurpose];
  const waiting = deliveryAt(0, "a", { state: "attempting", next_attempt_at: at(8), attempts });
  const slots = slotsOf(waiting);
  expect(slots.map(({ state }) => state)).toEqual(["failed", "purpose", "next", "later", "later", "later"]);
  expect(slots.map(({ dueMs }) => (dueMs - Date.parse(at(0))) / 60_000)).toEqual([0, 3, 8, 38, 158, 878]);
  const since = slots.map((slot) => sinceStartWords(slots, slot));
  expect(since.join()).toBe("At once,3 min,6 min,36 min,2 h 36 min,14 h 36 min");
  const delivered = slotsOf(deliveryAt(0, "b"));
  expect(delivered.map(({ state }) => state)).toEqual(["ok", ...Array(5).fill("unused")]);
  expect(slotsOf(deliveryAt(0, "c", { attempts: [first] }))[1]?.dueMs).toBe(Date.parse(at(3)));
  expect(attemptTone({ ...first, ended_at: null })).toBe("flying");
  const tones = [199, 200, 299, 300].map((status) => attemptTone(attemptAt(0, status)));
  expect(tones.join()).toBe("failed,ok,ok,failed");
});

test("the line ahead leads from now to the end of the schedule, and back to the same moment", async () => {
  const { aheadAtPlace, onTheWay, placeOnLine, SCHEDULE_MS } =
    await import("../../../simulator/dashboard/app/core/ahead.ts");
  expect([-5, 0, SCHEDULE_MS, 2 * SCHEDULE_MS].map(placeOnLine)).toEqual([0, 0, 1, 1]);
  for (const aheadMs of [60_000, 300_000, 43_200_000])
    expect(aheadAtPlace(placeOnLine(aheadMs))).toBeCloseTo(aheadMs, -1);
  const due = (minute: number, kind: "attempt" | "step", count: number) => {
    const nothing = { event_type: "order.created", attempt: null, delivery_id: null };
    return { object: "due" as const, kind, due_at: at(minute), count, ...nothing };
  };
  const all = [due(1, "attempt", 1), due(2, "step", 2), due(3, "attempt", 1_999)];
  expect(onTheWay(all, Date.parse(at(2)))).toBe("1 attempt and 2 scenario steps");
  expect(onTheWay(all, Date.parse(at(3)))).toBe("2,000 attempts and 2 scenario steps");
  expect(onTheWay(all, Date.parse(at(0)))).toBe("");
});

test("an error message disappears after the next success", async () => {
  const { attempt, toast, toasts } = await import("../../../simulator/dashboard/app/core/toasts.ts");
  await attempt(() => Promise.reject(new Error("gone")));
  toast("ok", "Sent.");
  expect(toasts.get().map(({ text }) => text)).toEqual(["gone", "Sent."]);
  await attempt(() => Promise.resolve());
  expect(toasts.get().map(({ text }) => text)).toEqual(["Sent."]);
});

test("an outcome and the hint next to a signature state what happened", async () => {
  const { lineOf, outcomeWord, STATES, VERDICTS } =
    await import("../../../simulator/dashboard/app/core/words.ts");
  const failed = (error: "timeout" | "refused") => ({ ...attemptAt(0, 0), http_status: null, error });
  const made = [200, 300, 399, 599].map((status) => attemptAt(0, status));
  expect(made.map(outcomeWord).join()).toBe("200 OK,300 Redirect,399 Redirect,599");
  expect([failed("timeout"), failed("refused"), undefined].map(outcomeWord).join()).toBe(
    "timeout,refused,waiting",
  );
  expect(outcomeWord({ ...failed("timeout"), ended_at: null })).toBe("sending…");
  expect(VERDICTS["timestamp_too_old"]).toMatch(/refuses.*300 s in the past/);
  expect(VERDICTS["timestamp_too_new"]).toMatch(/refuses.*300 s in the future/);
  expect(VERDICTS["accepted"]).toMatch(/accepts/);
  expect(STATES.dead[1]).toContain("state dead");
  expect(lineOf({ summary: "", event_type: "a.b" })).toBe("a.b");
  expect(lineOf({ summary: "paid \u202e10", event_type: "a.b" })).toBe("paid ‹U+202E›10");
});
