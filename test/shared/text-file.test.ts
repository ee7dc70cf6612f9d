import { expect, test } from "vitest";
import { decodeText } from "../../shared/text-file.ts";

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
  ["Latin-1", Buffer.from(TEXT, "latin1"), ".env is no UTF-8 text: save it as UTF-8."],
])("%s is named with what to do", (_, bytes, message) => {
  expect(decodeText(bytes, ".env")).toEqual({ ok: false, message });
});

test.each([[""], ["a"], ["\0"], ["\0\0\0\0"], ["ab\0d"]])("%j is UTF-8", (text) => {
  expect(decodeText(Buffer.from(text), "it")).toEqual({ ok: true, text });
});
