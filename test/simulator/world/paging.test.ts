import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createHistoryIds } from "../../../simulator/domain/world/history-ids.ts";
import { RESTAURANT, SERVICES, type TestWorld, createTestWorld } from "./test-world.ts";

const RUNS = 1_000;
const OUTCOMES = ["completed", "voicemail", "transferred"] as const;

/** Small worlds, one for each length of the history; a run begins by resetting one of them. */
const worlds = [0, 1, 6, 30].map((calls) => {
  const { world, now } = createTestWorld({ calls: calls * 2, epochMs: Date.UTC(2026, 5, 5) });
  return { world, now, history: listAtOnce(world) };
});

type Call = { id: string; outcome: string; created_at: string };

/** A call whose time is that of a call of the history (so that ties are common), or one of a few days around its end. */
const draft = fc.record({ time: fc.nat(40), outcome: fc.constantFrom(...OUTCOMES) });
const limits = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 });
const outcomes = fc.constantFrom<string | undefined>(undefined, ...OUTCOMES, "never heard of");
const settings = fc.record({ world: fc.constantFrom(...worlds), limits, outcome: outcomes });

function listAtOnce(world: TestWorld): Call[] {
  const page = world.calls(RESTAURANT, { limit: 1_000 });
  return page.ok ? page.data.map(toCall) : [];
}

function add({ world, history }: (typeof worlds)[number], call: { time: number; outcome: string }): Call {
  const createdAt = history[call.time]?.created_at ?? `2026-06-0${1 + (call.time % 9)}T00:00:00Z`;
  const happened = world.happen("call.completed", {
    object: { outcome: call.outcome, created_at: createdAt },
  });
  if (!happened.ok) throw new Error(happened.message);
  return toCall(happened.object);
}

function toCall({ id, outcome, created_at: createdAt }: Record<string, unknown>): Call {
  return { id: String(id), outcome: String(outcome), created_at: String(createdAt) };
}

/** What a walk must give: newest first, of one second the later one first. `calls` come in the order of their making. */
function reference(calls: readonly Call[], outcome: string | undefined): string[] {
  return calls
    .map((call, number) => ({ call, number }))
    .filter(({ call }) => outcome === undefined || call.outcome === outcome)
    .toSorted(
      (left, right) => compare(right.call.created_at, left.call.created_at) || right.number - left.number,
    )
    .map(({ call }) => call.id);
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** Walks to the end with changing page sizes; `between` runs after every page. */
function walk(
  world: TestWorld,
  query: { outcome: string | undefined; limits: readonly number[] },
  between: (page: number) => void = () => {},
): string[] {
  const seen: string[] = [];
  let startingAfter: string | undefined;
  for (let page = 0; ; page += 1) {
    const limit = query.limits[page % query.limits.length] ?? 1;
    const result = world.calls(RESTAURANT, { limit, startingAfter, outcome: query.outcome });
    if (!result.ok) throw new Error(result.reason);
    seen.push(...result.data.map(({ id }) => String(id)));
    if (!result.hasMore) return seen;
    expect(result.data).toHaveLength(limit);
    startingAfter = seen.at(-1);
    between(page);
  }
}

describe("a walk through the pages", () => {
  test("gives what the whole list sorted at once gives, for any page sizes and filter", () => {
    fc.assert(
      fc.property(settings, fc.array(draft, { maxLength: 12 }), ({ world, limits, outcome }, drafts) => {
        world.world.reset();
        const calls = [...world.history.toReversed(), ...drafts.map((call) => add(world, call))];
        expect(walk(world.world, { outcome, limits })).toEqual(reference(calls, outcome));
      }),
      { numRuns: RUNS },
    );
  });

  test("neither skips nor repeats what was there when it began, while new calls arrive", () => {
    const arrivals = fc.array(fc.array(fc.constantFrom(...OUTCOMES), { maxLength: 3 }), {
      minLength: 1,
      maxLength: 5,
    });
    fc.assert(
      fc.property(settings, fc.array(draft, { maxLength: 8 }), arrivals, (chosen, drafts, arrivals) => {
        const { world, limits, outcome } = chosen;
        world.world.reset();
        const before = [...world.history.toReversed(), ...drafts.map((call) => add(world, call))];
        const seen = walk(world.world, { outcome, limits }, (page) => {
          for (const arriving of arrivals[page] ?? []) {
            world.world.happen("call.completed", {
              object: { outcome: arriving, created_at: "2026-06-09T00:00:00Z" },
            });
          }
        });
        const old = new Set(before.map(({ id }) => id));
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen.filter((id) => old.has(id))).toEqual(reference(before, outcome));
      }),
      { numRuns: RUNS },
    );
  });

  test("(control) the same walk by offsets repeats calls when new ones arrive", () => {
    const { world } = createTestWorld({ calls: 20 });
    const idsFrom = (offset: number) =>
      listAtOnce(world)
        .slice(offset, offset + 3)
        .map(({ id }) => id);
    const firstPage = idsFrom(0);
    world.happen("call.completed");
    expect(idsFrom(3).some((id) => firstPage.includes(id))).toBe(true);
  });

  test("survives the deletion and the change of what it has yet to show", () => {
    const { world } = createTestWorld({ calls: 40 });
    const before = listAtOnce(world);
    const [gone, changed] = [before[7]!.id, before[11]!.id];
    const seen = walk(world, { outcome: undefined, limits: [3] }, (page) => {
      if (page === 0) world.forget(gone);
      if (page === 1) world.happen("call.completed", { object: { id: changed, outcome: "no_answer" } });
    });
    expect(seen).toEqual(before.map(({ id }) => id).filter((id) => id !== gone));
    expect(world.findCall(gone)).toBeUndefined();
    expect(world.findCall(changed)?.object).toMatchObject({ outcome: "no_answer" });
    expect(world.calls(RESTAURANT, { limit: 5, startingAfter: gone })).toEqual({
      ok: false,
      reason: "invalid_cursor",
    });
  });

  test("goes on from a cursor that the filter itself would not show", () => {
    const { world } = createTestWorld({ calls: 400 });
    const all = listAtOnce(world);
    const cursor = all.findIndex(({ outcome }) => outcome === "completed");
    const page = world.calls(RESTAURANT, { limit: 5, startingAfter: all[cursor]!.id, outcome: "voicemail" });
    const expected = all.slice(cursor).filter(({ outcome }) => outcome === "voicemail");
    expect(page).toMatchObject({ ok: true, data: expected.slice(0, 5), hasMore: true });
  });

  test("refuses a cursor of another organization, of another kind, and one that never was", () => {
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

  test("goes on from any of a million calls to those before it", () => {
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

  test("do not come close to each other for neighbours", () => {
    const { encode } = createHistoryIds(1, "call_");
    const ids = Array.from({ length: 10_000 }, (_, index) => encode(0, index));
    expect(new Set(ids).size).toBe(10_000);
    expect(new Set(ids.map((id) => id.slice(0, 9))).size).toBeGreaterThan(8_500);
  });
});
