import { existsSync, readFileSync, statSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { lists } from "../torture/planted/lists.ts";
import { testsOutcome } from "../torture/planted/tests-outcome.ts";

/** Trying the planted bugs takes long; that each can still be planted is seen at once. */
describe("each planted bug", () => {
  const bugs = Object.values(lists).flat();

  test("stands once in its file, changes it, and names files of tests that are there", () => {
    const misfits = bugs.filter(({ file, find, replace, tests }) => {
      const occurrences = existsSync(file) ? readFileSync(file, "utf8").split(find).length - 1 : 0;
      const areThere = tests
        .filter((name) => name.startsWith("test/"))
        .every((name) => statSync(name, { throwIfNoEntry: false })?.isFile());
      return occurrences !== 1 || find === replace || !areThere || tests.length === 0;
    });
    expect(misfits).toEqual([]);
  });

  test("is listed once", () => {
    const seen = bugs.map(({ file, find, replace }) => JSON.stringify([file, find, replace]));
    expect(seen.filter((bug, index) => seen.indexOf(bug) !== index)).toEqual([]);
  });
});

test.each([
  ["passed", 0, " Test Files  1 passed (1)\n      Tests  2 passed | 30 skipped (32)\n"],
  ["failed", 1, " Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)\n"],
  ["failed", 1, "      Tests  32 skipped (32)\n"],
  ["failed", null, ""],
  [
    "nothing ran",
    0,
    "\u001b[2m Test Files \u001b[22m 1 skipped (1)\n\u001b[2m      Tests \u001b[22m 32 skipped (32)\n",
  ],
  ["nothing ran", 1, "Error: no such file\n"],
  ["nothing ran", 1, "      Tests  no tests\n"],
])("tests that %s are told by code %j and %j", (outcome, code, printed) => {
  expect(testsOutcome(code, printed)).toBe(outcome);
});
