import { afterEach, expect, test, vi } from "vitest";
import { alignColumns, createOutput } from "../../../simulator/commands/output.ts";

const { isTTY } = process.stderr;

afterEach(() => {
  process.stderr.isTTY = isTTY;
});

test.each([
  ["a terminal", true, ["\r\u001b[2K1 of 2", "\r\u001b[2K2 of 2 \\u001b", "\r\u001b[2K", "Done.\n"]],
  ["no terminal", false, ["Done.\n"]],
])(
  "progress on %s is one line that is redrawn, and is erased before the next output",
  (_, isTerminal, expected) => {
    process.stderr.isTTY = isTerminal;
    const written: unknown[] = [];
    const write = vi.spyOn(process.stderr, "write").mockImplementation((text) => written.push(text) > 0);
    const output = createOutput({});
    output.progress("1 of 2");
    output.progress("2 of 2 \u001b");
    output.note("Done.");
    write.mockRestore();
    expect(written).toEqual(expected);
  },
);

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
