import { expect, test } from "vitest";
import { assignments } from "../../../simulator/commands/assignments.ts";

test.each([
  ["transcript=a=b", { transcript: "a=b" }],
  ["transcript==", { transcript: "=" }],
  ["recording_url=https://example.com/?a=1&b=2", { recording_url: "https://example.com/?a=1&b=2" }],
  ["transcript=", { transcript: "" }],
])("--set %s: the first equals sign ends the path, and all behind it is the value", (text, object) => {
  expect(assignments("call.completed", [text])).toEqual(object);
});

test("--set: each value in its own place, a list by the numbers of its items, the last word on a field counts", () => {
  expect(assignments("order.created", ["note=a=b", "items.0.name=x=y", "note=c"])).toEqual({
    note: "c",
    items: { "0": { name: "x=y" } },
  });
});
