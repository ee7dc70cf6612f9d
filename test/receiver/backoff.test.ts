import { expect, test } from "vitest";
import { backoffMs } from "../../receiver/work/policies.ts";

test("the backoff grows threefold from 5 s up to 6 h", () => {
  const waits = [1, 2, 3, 4, 8, 9, 10, 100].map((attempt) => backoffMs(attempt, () => 0));
  expect(waits).toEqual([5_000, 15_000, 45_000, 135_000, 10_935_000, 21_600_000, 21_600_000, 21_600_000]);
});

test("chance takes up to a fifth of it away, and never adds", () => {
  expect([0, 0.5, 1].map((chance) => backoffMs(1, () => chance))).toEqual([5_000, 4_500, 4_000]);
  expect(backoffMs(2, () => 1)).toBe(12_000);
});
