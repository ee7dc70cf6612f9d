import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createHistory, historyStart } from "../../../simulator/domain/world/history.ts";
import { createHistoryIds } from "../../../simulator/domain/world/history-ids.ts";
import { FIRST_STORED_SEQ, type Item, createItems } from "../../../simulator/domain/world/items.ts";
import { createBusinesses } from "../../../simulator/domain/world/organizations.ts";
import { createTimeline } from "../../../simulator/domain/world/timeline.ts";
import { RESTAURANT, SERVICES, type TestWorld, createTestWorld, openTestDatabase } from "./test-world.ts";

const RUNS = 1_000;
const OUTCOMES = ["completed", "voicemail", "transferred"] as const;
const EPOCH = Date.UTC(2026, 5, 5) / 1000;

/** Small timelines, one for each length of the history; a run first clears what was added to its timeline. */
const timelines = [0, 1, 6, 30].map((calls) => {
  const origin = { seed: 1, calls: calls * 2, epoch: EPOCH };
  const businesses = createBusinesses({ seed: 1, historyStart: historyStart(origin) });
  const history = createHistory({ origin, businesses, baseUrl: () => "" });
  const items = createItems(openTestDatabase());
  const timeline = createTimeline({ history, items });
  const past = [...history.before(0, "call", { createdAt: EPOCH, seq: 0 })];
  let number = FIRST_STORED_SEQ;

  /** A call with that outcome, at the time of some call of the history (so that ties are common) or at a few others. */
  function add({ time, outcome }: { time: number; outcome: string }): Item {
    number += 1;
    const item = {
      organization: 0,
      kind: "call" as const,
      createdAt: past[time]?.createdAt ?? EPOCH + (time % 5),
      seq: number,
      facet: outcome,
      id: `call_${number}`,
      object: "{}",
    };
    items.put(item);
    return item;
  }
  return { items, timeline, past, add };
});

const draft = fc.record({ time: fc.nat(40), outcome: fc.constantFrom(...OUTCOMES) });
const limits = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 });
const outcomes = fc.constantFrom<string | undefined>(undefined, ...OUTCOMES, "never heard of");
const settings = fc.record({ on: fc.constantFrom(...timelines), limits, outcome: outcomes });

/** What a walk must return: newest first, and within a second the last added first. */
function reference(items: readonly Item[], outcome: string | undefined): string[] {
  return items
    .filter(({ facet }) => outcome === undefined || facet === outcome)
    .toSorted((left, right) => right.createdAt - left.createdAt || right.seq - left.seq)
    .map(({ id }) => id);
}

/** Walks to the end with changing page sizes; `between` runs after every page. */
function walk(
  { timeline }: Pick<(typeof timelines)[number], "timeline">,
  query: { outcome: string | undefined; limits: readonly number[] },
  between: (page: number) => void = () => {},
): string[] {
  const seen: string[] = [];
  let startingAfter: string | undefined;
  for (let page = 0; ; page += 1) {
    const limit = query.limits[page % query.limits.length] ?? 1;
    const result = timeline.page(0, "call", { limit, startingAfter, facet: query.outcome });
    if (!result.ok) throw new Error(result.reason);
    seen.push(...result.items.map(({ id }) => id));
    if (!result.hasMore) return seen;
    expect(result.items).toHaveLength(limit);
    startingAfter = seen.at(-1);
    between(page);
  }
}

/** The ids of the newest calls of the restaurant, at most 1,000. */
function newest(world: TestWorld): string[] {
  const page = world.calls(RESTAURANT, { limit: 1_000 });
  return page.ok ? page.data.map(({ id }) => String(id)) : [];
}

describe("a walk through the pages", () => {
  test("returns the same as the whole sorted list, for any page sizes and filter", () => {
    fc.assert(
      fc.property(settings, fc.array(draft, { maxLength: 12 }), ({ on, limits, outcome }, drafts) => {
        on.items.clear();
        const items = [...on.past, ...drafts.map(on.add)];
        expect(walk(on, { outcome, limits })).toEqual(reference(items, outcome));
      }),
      { numRuns: RUNS },
    );
  });

  test("neither skips nor repeats earlier calls while new ones arrive", () => {
    const arrivals = fc.array(fc.array(fc.constantFrom(...OUTCOMES), { maxLength: 3 }), {
      minLength: 1,
      maxLength: 5,
    });
    fc.assert(
      fc.property(
        settings,
        fc.array(draft, { maxLength: 8 }),
        arrivals,
        ({ on, limits, outcome }, drafts, arrivals) => {
          on.items.clear();
          const before = [...on.past, ...drafts.map(on.add)];
          // New calls are in the newest second of the list.
          const seen = walk(on, { outcome, limits }, (page) => {
            for (const outcome of arrivals[page] ?? []) on.add({ time: 44, outcome });
          });
          const old = new Set(before.map(({ id }) => id));
          expect(new Set(seen).size).toBe(seen.length);
          expect(seen.filter((id) => old.has(id))).toEqual(reference(before, outcome));
        },
      ),
      { numRuns: RUNS },
    );
  });

  test("control: the same walk by offsets repeats calls when new ones arrive", () => {
    const { world } = createTestWorld({ calls: 20 });
    const firstPage = newest(world).slice(0, 3);
    world.happen("call.completed");
    const secondPage = newest(world).slice(3, 6);
    expect(secondPage.some((id) => firstPage.includes(id))).toBe(true);
  });

  test("survives changes of calls that it has not shown yet", () => {
    const { world } = createTestWorld({ calls: 40 });
    const before = newest(world);
    const changed = before[11]!;
    const seen: string[] = [];
    for (let page = 0; page < 7; page += 1) {
      const result = world.calls(RESTAURANT, { limit: 3, startingAfter: seen.at(-1) });
      seen.push(...(result.ok ? result.data.map(({ id }) => String(id)) : []));
      if (page === 1) world.happen("call.completed", { object: { id: changed, outcome: "no_answer" } });
    }
    expect(seen).toEqual(before.slice(0, seen.length));
    expect(world.findCall(changed)?.object).toMatchObject({ outcome: "no_answer" });
  });

  test("continues from a cursor that the filter excludes", () => {
    const { items, timeline, past } = timelines[3]!;
    items.clear();
    const cursor = past.find(({ facet }) => facet === "completed")!;
    const page = timeline.page(0, "call", { limit: 2, startingAfter: cursor.id, facet: "voicemail" });
    const older = past.filter(({ facet, seq }) => facet === "voicemail" && seq < cursor.seq);
    expect(page).toMatchObject({ ok: true, items: older.slice(0, 2) });
  });

  test("refuses a cursor of another organization, of another kind, and an invented one", () => {
    const { world } = createTestWorld();
    const first = (orgId: string) => {
      const page = world.calls(orgId, { limit: 1 });
      return page.ok ? String(page.data[0]?.["id"]) : "";
    };
    const invalid = { ok: false, reason: "invalid_cursor" };
    expect(world.calls(RESTAURANT, { limit: 5, startingAfter: first(SERVICES) })).toEqual(invalid);
    expect(world.voicemails(RESTAURANT, { limit: 5, startingAfter: first(RESTAURANT) })).toEqual(invalid);
    expect(world.calls(RESTAURANT, { limit: 5, startingAfter: "call_0000000000000000" })).toEqual(invalid);
    expect(world.calls(RESTAURANT, { limit: 5, startingAfter: "" })).toEqual(invalid);
    expect(world.calls(RESTAURANT, { limit: 5, startingAfter: first(RESTAURANT) })).toMatchObject({
      ok: true,
    });
  });

  test("continues from any of a million calls", () => {
    const { world } = createTestWorld({ calls: 2_000_000, seed: 7 });
    const { encode } = createHistoryIds(7, "call_");
    for (const index of [999_999, 999_998, 654_321, 500_000, 31_337, 100, 99, 1, 0]) {
      const page = world.calls(RESTAURANT, { limit: 100, startingAfter: encode(0, index) });
      const older = Array.from({ length: Math.min(100, index) }, (_, step) => encode(0, index - 1 - step));
      expect(page).toMatchObject({ ok: true, hasMore: index > 100 });
      expect(page.ok && page.data.map(({ id }) => id)).toEqual(older);
    }
    expect(world.findCall(encode(0, 1_000_000))).toBeUndefined();
    expect(world.findCall(encode(2, 0))).toBeUndefined();
  });
});

describe("the ids of the history", () => {
  test("can be read back, and differ by organization, index, seed and kind", () => {
    const number = fc.integer({ min: 0, max: 2 ** 32 - 1 });
    fc.assert(
      fc.property(number, number, number, (seed, organization, index) => {
        const { encode, decode } = createHistoryIds(seed, "call_");
        const id = encode(organization, index);
        expect(id).toMatch(/^call_[0-9a-f]{16}$/);
        expect(decode(id)).toEqual({ organization, index });
        expect(encode(organization, index ^ 1)).not.toBe(id);
        expect(encode(organization ^ 1, index)).not.toBe(id);
        expect(createHistoryIds(seed + 1, "call_").encode(organization, index)).not.toBe(id);
        expect(createHistoryIds(seed, "vm_").encode(organization, index).slice(3)).not.toBe(id.slice(5));
      }),
      { numRuns: RUNS },
    );
    expect(createHistoryIds(1, "call_").decode("call_mine")).toBeUndefined();
    expect(createHistoryIds(1, "call_").decode("call_0123456789ABCDEF")).toBeUndefined();
  });

  test("are not similar for neighbouring indexes", () => {
    const { encode } = createHistoryIds(1, "call_");
    const ids = Array.from({ length: 10_000 }, (_, index) => encode(0, index));
    expect(new Set(ids).size).toBe(10_000);
    expect(new Set(ids.map((id) => id.slice(0, 9))).size).toBeGreaterThan(8_500);
  });
});
