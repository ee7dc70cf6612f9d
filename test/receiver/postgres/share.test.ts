import { expect, test } from "vitest";
import { RETRY } from "../../../receiver/engines/postgres/boss.ts";
import { share, type Due } from "../../../receiver/engines/postgres/share.ts";
import { handler } from "../engine-suite/harness.ts";

const [a, b] = [handler({ name: "a" }), handler({ name: "b" })];
const both: Due[] = [
  { handler: a, priority: 0 },
  { handler: a, priority: RETRY },
];
const two: Due[] = [
  { handler: a, priority: 0 },
  { handler: b, priority: 0 },
];

const shared = (due: readonly Due[], slots: number, turn: number, roomOfA = Infinity): string[] =>
  share(due, { slots, turn, room: (of) => (of === a ? roomOfA : Infinity) }).map(
    (one) => `${one.handler.name} ${one.priority === RETRY ? "retry" : "new"} ${String(one.limit)}`,
  );

test("new jobs and retries share the slots half and half, and of an odd one each has its turn", () => {
  expect(shared(both, 10, 0)).toEqual(["a new 5", "a retry 5"]);
  expect(shared(both, 1, 0)).toEqual(["a new 1"]);
  expect(shared(both, 1, 1)).toEqual(["a retry 1"]);
  expect(shared(both.slice(1), 10, 1)).toEqual(["a retry 10"]);
  expect(shared(both, 10, 0, 4)).toEqual(["a new 2", "a retry 2"]);
  expect(shared(both, 10, 1, 1)).toEqual(["a retry 1"]);
});

test("handlers share the slots, what one has no room for is the next one's, and each is first in turn", () => {
  expect(shared(two, 10, 0)).toEqual(["a new 5", "b new 5"]);
  expect(shared(two, 1, 0)).toEqual(["a new 1"]);
  expect(shared(two, 1, 1)).toEqual(["b new 1"]);
  expect(shared(two, 10, 0, 2)).toEqual(["a new 2", "b new 8"]);
  expect(shared(two, 10, 0, 0)).toEqual(["b new 10"]);
  expect(shared([...both, ...two.slice(1)], 9, 0)).toEqual(["a new 3", "a retry 3", "b new 3"]);
  expect(shared([], 9, 5)).toEqual([]);
});
