import { expect, test, vi } from "vitest";
import { createFeed } from "../../../simulator/dashboard/app/core/feed.ts";
import { type Filters, NO_FILTERS } from "../../../simulator/dashboard/app/core/filters.ts";
import { createNewest, createPatience } from "../../../simulator/dashboard/app/core/late-answers.ts";
import type { Delivery, EventRecord, Gets } from "../../../simulator/dashboard/app/core/types.ts";
import { at, attemptAt, deliveryAt } from "./deliveries.ts";

/** A feed whose simulator answers when the test says so: `asked` has what was asked for, the oldest first. */
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

/** A feed that shows these, under these filters. */
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
  // Nothing is left to load, so that what is oldest has its place as well.
  feed.put(deliveryAt(2, "b"));
  expect(keys()).toEqual(["f2", "f", "e", "d", "c", "b"]);
});

test("an event without deliveries has a row until it is delivered", async () => {
  const { feed, keys } = await feedOf([deliveryAt(1, "a"), deliveryAt(3, "c")].toReversed());
  feed.addEvent({
    object: "event",
    origin: "world",
    id: "evt_b",
    type: "order.created",
    org_id: "org_1",
    created_at: at(2),
    summary: "",
  });
  expect(keys()).toEqual(["c", "evt_b", "a"]);
  feed.put(deliveryAt(2, "b", { event_id: "evt_b" }));
  expect(keys()).toEqual(["c", "b", "a"]);
});

test("a delivery older than the last loaded row appears with its page", async () => {
  const { feed, asked, answerNext, keys } = startFeed();
  void feed.load(NO_FILTERS);
  const lonely = (minute: number, id: string): EventRecord => ({
    object: "event",
    origin: "world",
    id,
    type: "order.created",
    org_id: "org_1",
    created_at: at(minute),
    summary: "",
  });
  await answerNext(page([deliveryAt(5, "e"), deliveryAt(3, "c")], "behind c"), {
    data: [lonely(5, "evt_5"), lonely(4, "evt_4"), lonely(2, "evt_2")],
  });
  feed.put(deliveryAt(1, "a"));
  expect(keys()).toEqual(["e", "evt_5", "evt_4", "c"]);
  // Told of before its delivery, which is in the next page.
  feed.addEvent(lonely(2, "evt_b"));
  void feed.loadOlder();
  expect(asked[0]?.path).toContain("starting_after=behind%20c");
  asked.shift()?.answer(page([deliveryAt(2, "b"), deliveryAt(1, "a")]));
  await expect.poll(keys).toEqual(["e", "evt_5", "evt_4", "c", "b", "a"]);
});

test("a stream update during a page load still counts after the page", async () => {
  const { feed, asked, answerNext } = startFeed();
  void feed.load(NO_FILTERS);
  feed.put(deliveryAt(1, "a", { state: "dead" }));
  await answerNext(page([deliveryAt(1, "a", { state: "attempting" })]), NO_EVENTS);
  expect(feed.list.byId.get("a")?.state).toBe("dead");

  void feed.load(NO_FILTERS);
  await answerNext(page([deliveryAt(9, "z")], "z"), NO_EVENTS);
  void feed.loadOlder();
  feed.put(deliveryAt(1, "a", { state: "delivered" }));
  asked.shift()?.answer(page([deliveryAt(1, "a", { state: "attempting" })]));
  await expect.poll(() => feed.list.byId.get("a")?.state).toBe("delivered");
});

test("an answer for filters that one has left meanwhile changes nothing", async () => {
  const { feed, asked, keys } = startFeed();
  void feed.load({ ...NO_FILTERS, state: "dead" });
  void feed.load({ ...NO_FILTERS, state: "delivered" });
  asked[1]?.answer(page([deliveryAt(2, "b")]));
  await expect.poll(keys).toEqual(["b"]);
  asked[0]?.answer(page([deliveryAt(1, "a", { state: "dead" })]));
  await new Promise((resolve) => void setImmediate(resolve));
  expect(keys()).toEqual(["b"]);
});

test("rows that no longer match leave the list, and the simulator is asked about uncertain ones", async () => {
  vi.useFakeTimers();
  try {
    const plain = await feedOf([deliveryAt(1, "a", { state: "attempting" })], { state: "attempting" });
    plain.feed.put(deliveryAt(1, "a"));
    plain.feed.put(deliveryAt(2, "b"));
    expect(plain.keys()).toEqual([]);
    expect(plain.asked).toEqual([]);

    // Something of it was sent again: only the simulator knows what is lost by now.
    const lost = [deliveryAt(2, "b", { state: "dead" }), deliveryAt(1, "a", { state: "dead" })];
    const { feed, asked, keys } = await feedOf(lost, { state: "lost" });
    feed.put(deliveryAt(3, "again", { resend_of: "b", state: "attempting" }));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(asked.map(({ path }) => path)).toEqual([expect.stringContaining("state=lost")]);
    // What is told while the question is on its way is asked about by another, after it.
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

    // What is older than the page that came may pass as before.
    const many = await feedOf([deliveryAt(3, "c"), deliveryAt(2, "b"), deliveryAt(1, "a")], { q: "x" });
    many.feed.put(deliveryAt(4, "d"));
    await vi.advanceTimersByTimeAsync(1_000);
    many.asked.shift()?.answer(page([deliveryAt(4, "d"), deliveryAt(2, "b")], "b"));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(many.keys()).toEqual(["d", "b", "a"]);
  } finally {
    vi.useRealTimers();
  }
});

test("a page that fails to load keeps the rows, and says why", async () => {
  const { feed, asked, keys } = await feedOf([deliveryAt(1, "a")], {}, "a");
  void feed.loadOlder();
  asked[0]?.fail(new Error("gone"));
  await expect.poll(() => feed.list.error?.message).toBe("gone");
  expect(keys()).toEqual(["a"]);
});

test("the latest attempt is the one made last, even if an older delivery is updated again", async () => {
  const { feed } = await feedOf([]);
  const original = deliveryAt(1, "original", { state: "dead", attempts: [attemptAt(1, 500)] });
  feed.put(original);
  feed.put(deliveryAt(2, "again", { resend_of: "original", attempts: [attemptAt(2, 200)] }));
  feed.put({ ...original, recovered_by: "again" });
  expect(feed.latest()?.id).toBe("again");
});

test("of answers to one question the newest counts, also where the older one comes later", async () => {
  const newest = createNewest();
  const taken: number[] = [];
  const [first, second] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
  const both = [first, second].map(({ promise }) => newest.of(promise, (value) => taken.push(value)));
  second.resolve(2);
  await both[1];
  first.resolve(1);
  await both[0];
  expect(taken).toEqual([2]);
});

test("a question is asked again the later, the longer its answer took, up to four seconds", async () => {
  vi.useFakeTimers();
  try {
    const patience = createPatience(250);
    const waits: number[] = [];
    for (const tookMs of [10, 500, 60_000]) {
      const timed = patience.time(new Promise((resolve) => void setTimeout(resolve, tookMs)));
      await vi.advanceTimersByTimeAsync(tookMs);
      await timed;
      waits.push(patience.ms());
    }
    expect(waits).toEqual([250, 2_000, 4_000]);
  } finally {
    vi.useRealTimers();
  }
});
