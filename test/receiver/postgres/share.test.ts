import { expect, test } from "vitest";
import { oneSuspect, share, type Hungry } from "../../../receiver/engines/postgres/share.ts";
import { handler } from "../engine-suite/harness.ts";

const of = (name: string, kinds: Hungry["kinds"], room = Infinity): Hungry => ({
  handler: handler({ name }),
  kinds,
  room,
});
const words = (wanted: ReturnType<typeof share>): string[] =>
  wanted.map((one) => `${one.handler.name} ${one.kind} ${String(one.limit)}`);

test("new jobs and retries share the slots half and half, and of an odd one each has its turn", () => {
  const both = [of("a", ["new", "retry"])];
  expect(words(share(both, 10, 0))).toEqual(["a new 5", "a retry 5"]);
  expect(words(share(both, 1, 0))).toEqual(["a retry 1"]);
  expect(words(share(both, 1, 1))).toEqual(["a new 1"]);
  expect(words(share([of("a", ["retry"])], 10, 1))).toEqual(["a retry 10"]);
});

test("handlers share the slots, what one has no room for is the next one's, and each is first in turn", () => {
  const two = [of("a", ["new"]), of("b", ["new"])];
  expect(words(share(two, 10, 0))).toEqual(["a new 5", "b new 5"]);
  expect(words(share(two, 1, 0))).toEqual(["a new 1"]);
  expect(words(share(two, 1, 1))).toEqual(["b new 1"]);
  expect(words(share([of("a", ["new"], 2), of("b", ["new"])], 10, 0))).toEqual(["a new 2", "b new 8"]);
  expect(words(share([of("a", ["new"], 0), of("b", ["new"])], 10, 0))).toEqual(["b new 10"]);
});

test("suspects are no part of it, and come one at a time", () => {
  const due = [of("a", ["suspect"]), of("b", ["new", "suspect"])];
  expect(words(share(due, 4, 0))).toEqual(["b new 4"]);
  expect(words(oneSuspect(due, 0))).toEqual(["a suspect 1"]);
  expect(words(oneSuspect(due, 1))).toEqual(["b suspect 1"]);
  expect(oneSuspect([of("a", ["new"])], 3)).toEqual([]);
});
