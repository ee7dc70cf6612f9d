import { expect, test } from "vitest";
import { createTurns } from "../../../receiver/engines/turns.ts";

test("the others go first when a worker starts and after each suspect: until they had theirs, or for a second", () => {
  let nowMs = 5_000;
  const turns = createTurns(() => nowMs);
  const othersAt = (atMs: number): boolean => {
    nowMs = atMs;
    return turns.isOthers();
  };
  expect([5_000, 5_999, 6_000].map(othersAt)).toEqual([true, true, false]);
  turns.suspectHadIts();
  expect([6_000, 6_999, 7_000].map(othersAt)).toEqual([true, true, false]);
  turns.suspectHadIts();
  turns.othersHadTheirs();
  expect(othersAt(7_000)).toBe(false);
});
