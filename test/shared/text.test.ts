import { expect, test } from "vitest";
import { decodeText, isPrintable, printable, printableJson } from "../../shared/text.ts";

/** Invisible characters of two UTF-16 units: of Kaithi, shorthand, music, and tags. */
const BEYOND = "\u{110bd}\u{1bca0}\u{1d173}\u{e0001}\u{e007f}";
const EVERY_UNIT = Array.from({ length: 0x1_00_00 }, (_, unit) => String.fromCharCode(unit)).join("");

test("every character that controls a terminal is escaped", () => {
  const shown = printable(EVERY_UNIT + BEYOND);

  expect(isPrintable(shown)).toBe(true);
  // oxlint-disable-next-line no-control-regex
  expect(shown).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u200e\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]/);
  expect(printable("a\u001b[31mb\r\nc\u009b2J")).toBe(String.raw`a\u001b[31mb\r\nc\u009b2J`);
});

test("visible text stays unchanged", () => {
  const text = `Zoë said "東京 🍕" \\n & <b> 100% ## a::b # [x]`;
  expect(printable(text)).toBe(text);
  expect(printableJson(JSON.stringify([text]))).toBe(JSON.stringify([text]));
});

test.each([
  ["::error::x", String.raw`\::error::x`],
  ["  ::set-output name=a::b", String.raw`  \::set-output name=a::b`],
  ["x ##vso[task.complete]", String.raw`x #\#vso[task.complete]`],
  ["##[error]x", String.raw`#\#[error]x`],
  ["##teamcity[x]", String.raw`#\#teamcity[x]`],
  ["###[x]", String.raw`##\#[x]`],
])("%s is no longer a build server's command", (text, shown) => {
  expect(printable(text)).toBe(shown);
  expect(printable(shown)).toBe(shown);
});

test("commands of a build server are found in ASCII-only JSON, too", () => {
  expect(printableJson('["##vso[x]"]')).toBe(String.raw`["#\u0023vso[x]"]`);
});

test("escaped JSON parses to the same value, and contains nothing that controls a terminal", () => {
  const value = { [EVERY_UNIT]: [EVERY_UNIT, BEYOND, "##vso[x] ##[error]", "::error::"] };
  for (const json of [JSON.stringify(value), JSON.stringify(value, null, 2)].map(printableJson)) {
    expect(JSON.parse(json)).toEqual(value);
    expect(json.split("\n").filter((line) => !isPrintable(line))).toEqual([]);
    expect(json).not.toMatch(/##(?:\w*\[)|^\s*::/m);
  }
});

const TEXT = "SIGNING_SECRET=whsec_é\n";

test.each([
  ["UTF-8", Buffer.from(TEXT)],
  ["UTF-8 with a byte order mark", Buffer.from(`\ufeff${TEXT}`)],
])("%s is read, without its mark", (_, bytes) => {
  expect(decodeText(bytes, ".env")).toEqual({ ok: true, text: TEXT });
});

const wide = Buffer.from(TEXT, "utf16le");

test.each([
  ["UTF-16 of Windows", Buffer.from(`\ufeff${TEXT}`, "utf16le"), ".env is UTF-16 text: save it as UTF-8."],
  ["UTF-16 without a mark", wide, ".env is UTF-16 text: save it as UTF-8."],
  ["big-endian UTF-16", Buffer.from(wide).swap16(), ".env is UTF-16 text: save it as UTF-8."],
  ["Latin-1", Buffer.from(TEXT, "latin1"), ".env is not UTF-8 text: save it as UTF-8."],
])("%s is named with what to do", (_, bytes, message) => {
  expect(decodeText(bytes, ".env")).toEqual({ ok: false, message });
});

test.each([[""], ["a"], ["\0"], ["\0\0\0\0"], ["ab\0d"]])("%j is UTF-8", (text) => {
  expect(decodeText(Buffer.from(text), "it")).toEqual({ ok: true, text });
});
