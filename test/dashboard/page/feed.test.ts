import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
import { loopTurns } from "../../helpers/loop-turns.ts";
import { createFeed } from "../../../simulator/dashboard/app/core/feed.ts";
import { type Filters, NO_FILTERS } from "../../../simulator/dashboard/app/core/filters.ts";
import type { Delivery, EventRecord, Gets } from "../../../simulator/dashboard/app/core/types.ts";
import { at, attemptAt, deliveryAt } from "./deliveries.ts";

/** A feed whose simulator answers when the test says so; `asked` has the open requests, oldest first. */
function startFeed() {
  const asked: { path: string; answer: (value: unknown) => void; fail: (error: Error) => void }[] = [];
  const get = <Path extends keyof Gets>(path: Path) =>
    new Promise<Gets[Path]>((resolve, reject) => {
      asked.push({ path, answer: (value) => resolve(value as Gets[Path]), fail: reject });
    });
  const feed = createFeed({ control: { get }, changed: () => {} });
  const answerNext = async (...values: unknown[]) => {
    for (const value of values) asked.shift()?.answer(value);
    await expect.poll(() => feed.list.next === undefined && !feed.list.isLoading).toBe(true);
  };
  return { feed, asked, answerNext, keys: () => feed.rows().map(({ key }) => key) };
}

const page = (data: Delivery[], next: string | null = null) => ({
  data,
  has_more: next !== null,
  next_cursor: next,
});
const NO_EVENTS = { data: [] as EventRecord[] };
const lonely = (minute: number, id: string): EventRecord => ({
  object: "event",
  origin: "world",
  id,
  type: "order.created",
  org_id: "org_1",
  created_at: at(minute),
  summary: "",
});

/** A feed that shows these deliveries, with these filters. */
async function feedOf(deliveries: Delivery[], filters: Partial<Filters> = {}, next: string | null = null) {
  const started = startFeed();
  void started.feed.load({ ...NO_FILTERS, ...filters });
  const hasEvents = started.asked.length > 1;
  await started.answerNext(page(deliveries, next), ...(hasEvents ? [NO_EVENTS] : []));
  return started;
}

test("new rows are sorted by time, even deliveries of one event", async () => {
  const { feed, keys } = await feedOf([deliveryAt(5, "e"), deliveryAt(3, "c")]);
  feed.put(deliveryAt(4, "d"));
  feed.put(deliveryAt(6, "f"));
  expect(keys()).toEqual(["f", "e", "d", "c"]);
  feed.put(deliveryAt(6, "f2", { event_id: "evt_f", endpoint_id: "ep_2" }));
  // Nothing is left to load, so the oldest row has its place, too.
  feed.put(deliveryAt(2, "b"));
  expect(keys()).toEqual(["f2", "f", "e", "d", "c", "b"]);
});

test("an event without deliveries has a row until it is delivered", async () => {
  const { feed, keys } = await feedOf([deliveryAt(1, "a"), deliveryAt(3, "c")].toReversed());
  feed.addEvent(lonely(2, "evt_b"));
  expect(keys()).toEqual(["c", "evt_b", "a"]);
  feed.put(deliveryAt(2, "b", { event_id: "evt_b" }));
  expect(keys()).toEqual(["c", "b", "a"]);
  for (const [filters, questions, listed] of [
    [{ type: "order.created" }, 2, ["evt_o"]],
    [{ type: "call.completed" }, 2, []],
    [{ state: "dead" }, 1, []],
    [{ q: "needle" }, 2, []],
    [{ q: "status:500" }, 1, []],
  ] as const) {
    const other = startFeed();
    void other.feed.load({ ...NO_FILTERS, ...filters });
    expect(other.asked).toHaveLength(questions);
    await other.answerNext(page([]), ...(questions > 1 ? [NO_EVENTS] : []));
    other.feed.addEvent(lonely(2, "evt_o"));
    expect(other.keys()).toEqual(listed);
  }
});

test("a delivery older than the last loaded row appears with its page", async () => {
  const { feed, asked, answerNext, keys } = startFeed();
  void feed.load(NO_FILTERS);
  await answerNext(page([deliveryAt(5, "e"), deliveryAt(3, "c")], "behind c"), {
    data: [lonely(5, "evt_5"), lonely(4, "evt_4"), lonely(3, "evt_3"), lonely(2, "evt_2")],
  });
  feed.put(deliveryAt(1, "a"));
  expect(keys()).toEqual(["e", "evt_5", "evt_4", "c"]);
  // The stream reports it before its delivery, which is on the next page.
  feed.addEvent(lonely(2, "evt_b"));
  for (const _ of [1, 2]) void feed.loadOlder();
  expect(asked.map(({ path }) => path)).toEqual([expect.stringContaining("starting_after=behind%20c")]);
  asked.shift()?.answer(page([deliveryAt(2, "b"), deliveryAt(1, "a")]));
  await expect.poll(keys).toEqual(["e", "evt_5", "evt_4", "c", "b", "a"]);
});

type Step = { does: "new" | "ends" | "filter" | "older" | "answer" | "fail"; n: number };
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    does: fc.constantFrom("new", "new", "ends", "filter", "older", "answer", "answer", "fail"),
    n: fc.nat(11),
  }),
  { minLength: 5, maxLength: 60 },
);

test("in any order of stream events, requests, answers and failures, the list ends as the simulator's", async () => {
  const property = fc.asyncProperty(steps, async (all) => {
    const have: Delivery[] = [];
    const asked: { answer: () => void; fail: () => void }[] = [];
    let [loads, failedLoad] = [0, -1];
    /** An answer shows the state at its request, in small pages; the stream reports later changes. */
    const get = <Path extends keyof Gets>(path: Path) => {
      const query = new URLSearchParams(path.split("?")[1]);
      const [after, state] = [query.get("starting_after"), query.get("state")];
      const below = have.slice(have.findIndex(({ id }) => id === after) + 1);
      const matching = below.filter((one) => state === null || one.state === state);
      const size = query.get("limit") === "60" ? 3 : 4;
      const data = matching.slice(0, size);
      const answer = page(data, matching.length > size ? (data.at(-1)?.id ?? null) : null);
      return new Promise<Gets[Path]>((resolve, reject) => {
        const known = path.startsWith("/events") ? NO_EVENTS : answer;
        const own = loads;
        const fail = () => {
          failedLoad = Math.max(failedLoad, own);
          reject(new Error("gone"));
        };
        asked.push({ answer: () => resolve(known as Gets[Path]), fail });
      });
    };
    const feed = createFeed({ control: { get }, changed: () => {} });
    let filters = NO_FILTERS;
    const put = (at: number, delivery: Delivery) => feed.put((have[at] = delivery));
    const does: Record<Step["does"], (n: number) => unknown> = {
      new: (n) =>
        have.unshift(deliveryAt(0, "")) &&
        put(0, deliveryAt(have.length, `d${have.length}`, { state: n % 2 ? "attempting" : "dead" })),
      ends: (n) => have[n] && put(n, { ...have[n], state: "dead" }),
      filter: (n) => {
        loads += 1;
        filters = { ...NO_FILTERS, state: ["", "attempting", "dead"][n % 3] ?? "" };
        return feed.load(filters);
      },
      older: () => feed.loadOlder(),
      answer: (n) => asked.splice(n % Math.max(1, asked.length), 1)[0]?.answer(),
      fail: (n) => asked.splice(n % Math.max(1, asked.length), 1)[0]?.fail(),
    };
    for (const step of all) {
      void does[step.does](step.n);
      await loopTurns(1);
    }
    const answerAll = async () => {
      for (const { answer } of asked.splice(0)) answer();
      await loopTurns(1);
    };
    await answerAll();
    // Only the failed requests of the last filters are repeated.
    if (loads === 0 || failedLoad === loads) void feed.load(filters);
    await answerAll();
    for (let pages = 0; feed.list.hasMore && pages < 30; pages += 1) {
      void feed.loadOlder();
      await answerAll();
    }
    const expected = have.filter(({ state }) => filters.state === "" || filters.state === state);
    expect(feed.rows().map((row) => row.kind === "delivery" && row.delivery)).toEqual(expected);
  });
  await fc.assert(property, { numRuns: 150 });
});

test("rows that no longer match leave the list, and the simulator is asked about uncertain ones", async () => {
  vi.useFakeTimers();
  try {
    const plain = await feedOf([deliveryAt(1, "a", { state: "attempting" })], { state: "attempting" });
    plain.feed.put(deliveryAt(1, "a"));
    plain.feed.put(deliveryAt(2, "b"));
    expect(plain.keys()).toEqual([]);
    expect(plain.asked).toEqual([]);

    // Some of it was resent: only the simulator knows which deliveries are lost now.
    const lost = [deliveryAt(2, "b", { state: "dead" }), deliveryAt(1, "a", { state: "dead" })];
    const { feed, asked, keys } = await feedOf(lost, { state: "lost" });
    feed.put(deliveryAt(3, "again", { resend_of: "b", state: "attempting" }));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(asked.map(({ path }) => path)).toEqual([expect.stringContaining("state=lost")]);
    // Updates during a request go into the next one.
    feed.put(deliveryAt(4, "more", { resend_of: "a", state: "attempting" }));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(asked).toHaveLength(1);
    asked.shift()?.answer(page(lost.slice(1)));
    await vi.advanceTimersByTimeAsync(4_000);
    expect(keys()).toEqual(["a"]);
    asked.shift()?.answer(page([]));
    await vi.advanceTimersByTimeAsync(4_000);
    expect(keys()).toEqual([]);
    expect(asked).toEqual([]);

    // Rows older than the loaded page may stay as they were.
    const old = [deliveryAt(2, "b"), deliveryAt(2, "B"), deliveryAt(1, "a")];
    const many = await feedOf([deliveryAt(3, "c"), ...old], { q: "x" });
    many.feed.put(deliveryAt(4, "d"));
    await vi.advanceTimersByTimeAsync(1_000);
    many.asked.shift()?.fail(new Error("gone"));
    many.feed.put(deliveryAt(4, "d", { state: "dead" }));
    await vi.advanceTimersByTimeAsync(4_000);
    many.asked.shift()?.answer(page([deliveryAt(4, "d"), deliveryAt(2, "b")], "b"));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(many.keys()).toEqual(["d", "b", "B", "a"]);
    // The update from the stream is newer than the answer.
    expect(many.feed.list.byId.get("d")?.state).toBe("dead");
  } finally {
    vi.useRealTimers();
  }
});

test("a page that fails to load keeps the rows, and says why", async () => {
  const { feed, asked, keys } = await feedOf([deliveryAt(1, "a")], {}, "a");
  void feed.loadOlder();
  asked[0]?.fail(new Error("gone"));
  await expect.poll(() => feed.list.error?.message).toBe("gone");
  void feed.loadOlder();
  expect([keys(), asked.length]).toEqual([["a"], 1]);
});

test("the latest attempt is the one made last, even if an older delivery is updated again", async () => {
  const { feed } = await feedOf([]);
  const original = deliveryAt(1, "original", { state: "dead", attempts: [attemptAt(1, 500)] });
  feed.put(original);
  feed.put(deliveryAt(2, "again", { resend_of: "original", attempts: [attemptAt(2, 200)] }));
  feed.put({ ...original, recovered_by: "again" });
  const judged = deliveryAt(2, "again", { attempts: [attemptAt(2, 200)], handling: null });
  feed.put(judged);
  expect(feed.latest()).toBe(judged);
  feed.put(deliveryAt(3, "other", { endpoint_id: "ep_2", attempts: [attemptAt(0, 200)] }));
  expect([feed.latest()?.id, feed.heardOf("ep_2")?.id]).toEqual(["again", "other"]);
});

test("of more than 5,000 updates, the one that was heard longest ago is forgotten", async () => {
  const { feed } = await feedOf([], { state: "dead" });
  for (const id of ["a", "b", "a"]) feed.put(deliveryAt(0, id));
  for (let n = 2; n < 5_000; n += 1) feed.put(deliveryAt(0, `d${n}`));
  const known = () => ["a", "b"].map((id) => [feed.get(id)?.id, typeof feed.litAt(id)].join());
  expect(known()).toEqual(["a,number", "b,number"]);
  feed.put(deliveryAt(0, "last"));
  expect(known()).toEqual(["a,number", ",undefined"]);
});
