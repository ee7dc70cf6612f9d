import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Item, createItems } from "../../../simulator/domain/world/items.ts";
import { RESTAURANT, SERVICES, createTestWorld, openTestDatabase } from "./test-world.ts";

const RUNS = 1_000;
const OUTCOMES = ["completed", "voicemail", "transferred"] as const;

/** A few times only, so that ties are common. */
const draft = fc.record({ createdAt: fc.integer({ min: 0, max: 4 }), facet: fc.constantFrom(...OUTCOMES) });
const limits = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 });
const facets = fc.constantFrom<string | undefined>(undefined, ...OUTCOMES, "never heard of");

function createStore() {
  const items = createItems(openTestDatabase());
  let seq = 0;
  const add = ({ createdAt, facet }: { createdAt: number; facet: string }): Item => {
    seq += 1;
    const item: Item = {
      organization: 0,
      kind: "call",
      createdAt,
      seq,
      facet,
      id: `call_${seq}`,
      origin: null,
      object: "{}",
    };
    items.add(item);
    return item;
  };
  return { items, add, clear: () => items.refill([]) };
}

/** What a walk must give: newest first, of one second the later one first. */
function reference(items: readonly Item[], facet: string | undefined): string[] {
  return items
    .filter((item) => facet === undefined || item.facet === facet)
    .toSorted((left, right) => right.createdAt - left.createdAt || right.seq - left.seq)
    .map(({ id }) => id);
}

/** Walks to the end with changing page sizes; `between` runs after every page. */
function walk(
  store: ReturnType<typeof createStore>,
  query: { facet: string | undefined; limits: readonly number[] },
  between: (page: number) => void = () => {},
): string[] {
  const seen: string[] = [];
  let startingAfter: string | undefined;
  for (let page = 0; ; page += 1) {
    const limit = query.limits[page % query.limits.length] ?? 1;
    const result = store.items.page(0, "call", { limit, startingAfter, facet: query.facet });
    if (!result.ok) throw new Error(result.reason);
    seen.push(...result.items.map(({ id }) => id));
    if (!result.hasMore) return seen;
    expect(result.items).toHaveLength(limit);
    startingAfter = seen.at(-1);
    between(page);
  }
}

describe("a walk through the pages", () => {
  test("gives what the whole list sorted at once gives, for any page sizes and filter", () => {
    const store = createStore();
    fc.assert(
      fc.property(fc.array(draft, { maxLength: 25 }), limits, facets, (drafts, limits, facet) => {
        store.clear();
        const items = drafts.map(store.add);
        expect(walk(store, { facet, limits })).toEqual(reference(items, facet));
      }),
      { numRuns: RUNS },
    );
  });

  test("neither skips nor repeats what was there when it began, while new items arrive", () => {
    const store = createStore();
    const arrivals = fc.array(fc.array(draft, { maxLength: 4 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(
        fc.array(draft, { maxLength: 25 }),
        arrivals,
        limits,
        facets,
        (drafts, arrivals, limits, facet) => {
          store.clear();
          const before = drafts.map(store.add);
          const seen = walk(store, { facet, limits }, (page) => {
            // New items are newer, or of the same second as the newest.
            for (const { createdAt, facet } of arrivals[page] ?? [])
              store.add({ createdAt: 4 + createdAt, facet });
          });
          const old = new Set(before.map(({ id }) => id));
          expect(new Set(seen).size).toBe(seen.length);
          expect(seen.filter((id) => old.has(id))).toEqual(reference(before, facet));
        },
      ),
      { numRuns: RUNS },
    );
  });

  test("(control) the same walk by offsets repeats items when new ones arrive", () => {
    const store = createStore();
    const items = Array.from({ length: 6 }, () => store.add({ createdAt: 0, facet: "completed" }));
    const firstPage = reference(items, undefined).slice(0, 3);
    items.push(store.add({ createdAt: 1, facet: "completed" }));
    const secondPage = reference(items, undefined).slice(3, 6);
    expect(secondPage.some((id) => firstPage.includes(id))).toBe(true);
  });

  test("goes on from a cursor that the filter itself would not show", () => {
    const { items, add } = createStore();
    const voicemail = add({ createdAt: 1, facet: "voicemail" });
    const cursor = add({ createdAt: 2, facet: "completed" });
    const page = items.page(0, "call", { limit: 5, startingAfter: cursor.id, facet: "voicemail" });
    expect(page).toMatchObject({ ok: true, items: [{ id: voicemail.id }], hasMore: false });
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

  test("asks the database for a place in an index, wherever the page is", () => {
    const { database } = createTestWorld({ calls: 2_000 });
    const plans = [
      `SELECT id FROM world_items WHERE organization = 0 AND kind = 'call' AND (created_at, seq) < (9, 9)
       ORDER BY created_at DESC, seq DESC LIMIT 101`,
      `SELECT id FROM world_items WHERE organization = 0 AND kind = 'call' AND facet = 'completed'
       AND (created_at, seq) < (9, 9) ORDER BY created_at DESC, seq DESC LIMIT 101`,
    ].map((sql) => JSON.stringify(database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()));
    for (const plan of plans) {
      expect(plan).toContain("SEARCH");
      expect(plan).not.toContain("TEMP B-TREE");
    }
    expect(plans[0]).toContain("(created_at,seq)<(?,?)");
    expect(plans[1]).toContain("(created_at,seq)<(?,?)");
  });
});
