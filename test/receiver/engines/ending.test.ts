import { expect, test } from "vitest";
import type { Outcome } from "../../../receiver/engine.ts";
import { endingOf, handledAs } from "../../../receiver/engines/ending.ts";

const RETRY = { maximumAttempts: 3, backoffMs: (attempt: number) => attempt * 100 };

test.each<[number, Outcome, ReturnType<typeof endingOf>, ReturnType<typeof handledAs>]>([
  [1, { kind: "done" }, { state: "done", error: null }, "done"],
  [3, { kind: "done" }, { state: "done", error: null }, "done"],
  [3, { kind: "ignored" }, { state: "ignored", error: null }, "ignored"],
  [1, { kind: "dead", error: "no" }, { state: "dead", error: "no" }, "dead"],
  [2, { kind: "failed", error: "no" }, { state: "pending", error: "no", delayMs: 200 }, "failed"],
  [3, { kind: "failed", error: "no" }, { state: "dead", error: "no" }, "dead"],
  [
    1,
    { kind: "failed", error: "no", retryAfterMs: 0 },
    { state: "pending", error: "no", delayMs: 0 },
    "failed",
  ],
  [
    1,
    { kind: "failed", error: "no", retryAfterMs: 1.2 },
    { state: "pending", error: "no", delayMs: 2 },
    "failed",
  ],
])("attempt %i of 3 that ended as %o", (attempt, outcome, ending, word) => {
  expect(endingOf(attempt, outcome, RETRY)).toEqual(ending);
  expect(handledAs(ending)).toBe(word);
});
