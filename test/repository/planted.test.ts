import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { lists } from "../torture/planted/lists.ts";

/** Trying the planted bugs takes long; that each can still be planted is seen at once. */
describe("each planted bug", () => {
  const bugs = Object.values(lists).flat();

  test("stands once in its file, changes it, and names tests that are there", () => {
    const misfits = bugs.filter(({ file, find, replace, tests }) => {
      const occurrences = existsSync(file) ? readFileSync(file, "utf8").split(find).length - 1 : 0;
      const areThere = tests.filter((name) => name.endsWith(".test.ts")).every((name) => existsSync(name));
      return occurrences !== 1 || find === replace || !areThere || tests.length === 0;
    });
    expect(misfits).toEqual([]);
  });

  test("is listed once", () => {
    const seen = bugs.map(({ file, find, replace }) => JSON.stringify([file, find, replace]));
    expect(seen.filter((bug, index) => seen.indexOf(bug) !== index)).toEqual([]);
  });
});
