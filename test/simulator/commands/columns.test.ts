import { expect, test } from "vitest";
import { alignColumns } from "../../../simulator/commands/output.ts";

test("columns are aligned by visible width, even with wide characters, emoji and accents", () => {
  expect(
    alignColumns([
      ["山田太郎", "a"],
      ["Zoë", "b"],
      ["🍕", "c"],
      ["e\u0301", "d"],
    ]),
  ).toEqual(["山田太郎  a", "Zoë       b", "🍕        c", "e\u0301         d"]);
});
