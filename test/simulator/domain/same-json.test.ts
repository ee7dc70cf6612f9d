import { expect, test } from "vitest";
import { isSameJson } from "../../../simulator/domain/exact-json.ts";

test.each<[unknown, unknown, boolean]>([
  [{ a: 1, b: { c: [1, null] } }, { b: { c: [1, null] }, a: 1 }, true],
  [{ a: 1 }, { a: 1, b: undefined }, false],
  [{ a: 1, b: 2 }, { a: 1, c: 2 }, false],
  [{ a: undefined }, { b: undefined }, false],
  [[1, 2], [2, 1], false],
  [[1], [1, 2], false],
  [[], {}, false],
  [null, {}, false],
  [0, "0", false],
  ["é", "é", true],
])("%j and %j: %s", (left, right, isSame) => {
  expect(isSameJson(left, right)).toBe(isSame);
  expect(isSameJson(right, left)).toBe(isSame);
});
