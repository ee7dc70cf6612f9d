import { expect, test } from "vitest";
import type { Outcome } from "../../../receiver/engine.ts";
import { endingOf, fateOf, handledAs } from "../../../receiver/engines/ending.ts";

const RETRY = { maximumAttempts: 3, backoffMs: (attempt: number) => attempt * 100.2 };

test.each<[number, Outcome, ReturnType<typeof endingOf>, ReturnType<typeof handledAs>]>([
  [1, { kind: "done" }, { state: "done", error: null }, "done"],
  [3, { kind: "done" }, { state: "done", error: null }, "done"],
  [1, { kind: "dead", error: "no" }, { state: "dead", error: "no" }, "dead"],
  [2, { kind: "failed", error: "no" }, { state: "pending", error: "no", delayMs: 201 }, "failed"],
  [3, { kind: "failed", error: "no" }, { state: "dead", error: "no" }, "dead"],
  [
    3,
    { kind: "later", reason: "no", delayMs: 1.2 },
    { state: "pending", error: "no", delayMs: 2, deferred: true },
    "later",
  ],
])("attempt %i of 3 that ended as %o", (attempt, outcome, ending, word) => {
  expect(endingOf(attempt, outcome, RETRY)).toEqual(ending);
  expect(handledAs(ending)).toBe(word);
});

test("no attempt is further away than 20 days, whatever a handler asks for", () => {
  const longest = { state: "pending", delayMs: 20 * 86_400_000 };
  const backoffMs = () => 9e15;
  expect(endingOf(1, { kind: "failed", error: "no" }, { ...RETRY, backoffMs })).toMatchObject(longest);
  expect(endingOf(1, { kind: "later", reason: "no", delayMs: Infinity }, RETRY)).toMatchObject(longest);
});

test.each([
  [
    { attempts: 2, alone: false, why: "crashed" },
    { state: "suspect", attempts: 1, delayMs: 0 },
  ],
  [
    { attempts: 3, alone: false, why: "expired" },
    { state: "suspect", attempts: 2, delayMs: 0 },
  ],
  [
    { attempts: 2, alone: true, why: "crashed" },
    { state: "suspect", attempts: 2, delayMs: 201 },
  ],
  [
    { attempts: 2, alone: true, why: "expired" },
    { state: "suspect", attempts: 2, delayMs: 0 },
  ],
  [
    { attempts: 3, alone: true, why: "expired" },
    { state: "dead", attempts: 3, delayMs: 0 },
  ],
] as const)("a job of a worker that vanished, %o", (vanished, fate) => {
  expect(fateOf(vanished, RETRY)).toEqual(fate);
});
