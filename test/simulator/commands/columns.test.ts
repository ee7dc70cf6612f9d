import { expect, test } from "vitest";
import { alignColumns } from "../../../simulator/commands/output.ts";

test("columns are aligned by what is seen of them: wide characters, emoji and accents too", () => {
  expect(
    alignColumns([
      ["山田太郎", "a"],
      ["Zoë", "b"],
      ["🍕", "c"],
      ["e\u0301", "d"],
    ]),
  ).toEqual(["山田太郎  a", "Zoë       b", "🍕        c", "e\u0301         d"]);
});
