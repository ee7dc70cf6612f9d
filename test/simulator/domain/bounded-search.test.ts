import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { searchPage, textMatcher } from "../../../simulator/domain/bounded-search.ts";

type Row = { id: string; isWanted: boolean };

const rowsOf = (wanted: readonly boolean[]): Row[] =>
  wanted.map((isWanted, index) => ({ id: String(index), isWanted }));

/** Pages through `rows` as a client does: from each `next`. */
function walk(rows: readonly Row[], limit: number, bounds: { rows: number; milliseconds: number }) {
  let nowMs = 0;
  const pages: { ids: string[]; next: string | null; looked: number }[] = [];
  let from = 0;
  for (;;) {
    let looked = 0;
    const page = searchPage({
      rows: rows.slice(from),
      matches: ({ isWanted }) => {
        looked += 1;
        nowMs += 1;
        return isWanted;
      },
      limit,
      bounds,
      monotonicMs: () => nowMs,
    });
    pages.push({ ids: page.found.map(({ id }) => id), next: page.next, looked });
    if (page.next === null) return pages;
    expect(Number(page.next)).toBeGreaterThanOrEqual(from);
    from = Number(page.next) + 1;
  }
}

describe("a page of a bounded search", () => {
  test("pages return each match once, in order, with any limits", () => {
    fc.assert(
      fc.property(
        fc.array(fc.boolean(), { maxLength: 60 }),
        fc.integer({ min: 1, max: 7 }),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 0, max: 9 }),
        (wanted, limit, mostRows, milliseconds) => {
          const rows = rowsOf(wanted);
          const pages = walk(rows, limit, { rows: mostRows, milliseconds });
          const found = pages.flatMap(({ ids }) => ids);
          expect(found).toEqual(rows.filter(({ isWanted }) => isWanted).map(({ id }) => id));
          for (const { ids, looked } of pages) {
            expect(ids.length).toBeLessThanOrEqual(limit);
            expect(looked).toBeLessThanOrEqual(Math.min(mostRows, milliseconds + 1));
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test("a full page reports more only if there is at least one more", () => {
    const bounds = { rows: 100, milliseconds: 100 };
    expect(walk(rowsOf([true, true, false, false]), 2, bounds)).toMatchObject([
      { ids: ["0", "1"], next: null },
    ]);
    expect(walk(rowsOf([true, true, false, true]), 2, bounds)).toMatchObject([
      { ids: ["0", "1"], next: "2" },
      { ids: ["3"], next: null },
    ]);
  });

  test.each([
    ["rows", { rows: 3, milliseconds: 1_000 }, "2"],
    ["milliseconds", { rows: 1_000, milliseconds: 4 }, "4"],
  ])("ends early after so many %s, at the last one that was read", (_name, bounds, next) => {
    expect(walk(rowsOf(Array.from({ length: 9 }, () => false)), 5, bounds)[0]).toMatchObject({
      ids: [],
      next,
    });
  });
});

describe("searched text", () => {
  test.each([
    ["lost", "I LOST it", true],
    ["ÉCLAIR", "an éclair", true],
    ['say "hi"', JSON.stringify({ text: 'I say "Hi" now' }), true],
    ["two\nlines", JSON.stringify("two\nlines"), true],
    ["back\\slash", "back\\slash", true],
    ["a.c", "abc", false],
  ])("%j in %j: %s", (query, text, isFound) => {
    expect(textMatcher(query)(text)).toBe(isFound);
  });
});
