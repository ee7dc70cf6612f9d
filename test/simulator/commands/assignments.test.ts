import { expect, test } from "vitest";
import { assignments } from "../../../simulator/commands/assignments.ts";

test.each([
  ["transcript=a=b", { transcript: "a=b" }],
  ["transcript==", { transcript: "=" }],
  ["recording_url=https://example.com/?a=1&b=2", { recording_url: "https://example.com/?a=1&b=2" }],
  ["transcript=", { transcript: "" }],
])("--set %s: the first equals sign ends the path, and the rest is the value", (text, object) => {
  expect(assignments("call.completed", [text])).toEqual(object);
});

test("--set: an item of a given list is changed, and the other items stay", () => {
  const items = 'items=[{"name":"a","quantity":1},{"name":"b"}]';
  expect(assignments("order.created", [items, "items.0.name=c", "items.2.name=d"])).toEqual({
    items: [{ name: "c", quantity: 1 }, { name: "b" }, { name: "d" }],
  });
});

test("--set: each value at its path, list items by number, and the last value of a field counts", () => {
  expect(assignments("order.created", ["note=a=b", "items.0.name=x=y", "note=c"])).toEqual({
    note: "c",
    items: { "0": { name: "x=y" } },
  });
});

test.each([[["items.-1.name=x"]], [["items.x.name=x"]], [['items=[{"name":"a"}]', "items.name=x"]]])(
  "--set %s: a list stays a list",
  (texts) => {
    expect(() => assignments("order.created", texts)).toThrow("items is a list; give an item's number");
  },
);

test("--set: the number of a list item may have several digits", () => {
  const texts = Array.from({ length: 12 }, (_, place) => `items.${place}.name=${place}th`);
  const items = Array.from({ length: 12 }, (_, place) => ({ name: `${place}th` }));
  expect(assignments("order.created", ["items=[]", ...texts])).toEqual({ items });
});
