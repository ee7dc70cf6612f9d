import type { Mutant } from "../mutant.ts";
import { CORRECT } from "../receiver.ts";
import { join, rewritten, swapped, isReversed, reversed } from "./helpers.ts";

/** Bugs in what is verified, and in how the body is read. */
export const BYTES: Record<string, Mutant> = {
  reserializes: {
    bug: "verifies over JSON that it wrote again",
    plant: { signedStrings: (t, body) => [join(t, Buffer.from(rewritten(body)))] },
    caughtBy: "raw-bytes.reformatted",
    alsoBy: [
      "raw-bytes.pretty-printed",
      "raw-bytes.crlf",
      "raw-bytes.unicode-escapes",
      "raw-bytes.escaped-slashes",
      "raw-bytes.emoji",
      "raw-bytes.numbers",
      "raw-bytes.big-numbers",
      "raw-bytes.integer-as-float",
      "raw-bytes.trailing-newline",
      "raw-bytes.leading-space",
      "raw-bytes.repeated-key",
      "raw-bytes.re-escaped",
      "raw-bytes.newline-added",
      "raw-bytes.replacement-character",
      "readings.reserialized-retry",
    ],
  },
  "documented-order": {
    bug: "puts the keys into the documented order before it verifies",
    plant: { signedStrings: (t, body) => [join(t, isReversed(body) ? reversed(body) : body)] },
    caughtBy: "raw-bytes.key-order",
  },
  "reserializes-too": {
    bug: "falls back on JSON that it wrote again",
    plant: { signedStrings: (t, body) => [join(t, body), join(t, Buffer.from(rewritten(body)))] },
    caughtBy: "raw-bytes.reformatted",
    alsoBy: ["raw-bytes.re-escaped", "raw-bytes.newline-added", "raw-bytes.replacement-character"],
  },
  "decodes-first": {
    bug: "verifies over decoded text, in which invalid bytes are all one",
    plant: { signedStrings: (t, body) => [`${t}.${body.toString("utf8")}`] },
    caughtBy: "raw-bytes.replacement-character",
  },
  "decodes-leniently": {
    bug: "verifies over decoded text, with invalid bytes dropped on both sides",
    plant: { signedStrings: (t, body) => [join(t, body), ...swapped(body).map((other) => join(t, other))] },
    caughtBy: "raw-bytes.invalid-bytes",
  },
  "drops-the-mark": {
    bug: "verifies over text decoded without its byte order mark",
    plant: {
      signedStrings: (t, body) => [join(t, body.subarray(body.indexOf("\ufeff") === 0 ? 3 : 0))],
      parse: (body, state) => CORRECT.parse(body.subarray(body.indexOf("\ufeff") === 0 ? 3 : 0), state),
    },
    caughtBy: "raw-bytes.byte-order-mark",
  },
  trims: {
    bug: "trims the body before it verifies",
    plant: {
      signedStrings: (t, body) =>
        [`${t}.${body.toString("latin1").trim()}`].map((text) => Buffer.from(text, "latin1")),
    },
    caughtBy: "raw-bytes.trailing-newline",
    alsoBy: ["raw-bytes.leading-space", "raw-bytes.newline-added"],
  },
  "adds-newline": {
    bug: "tries the body with a line break behind it as well",
    plant: { signedStrings: (t, body) => [join(t, body), Buffer.concat([join(t, body), Buffer.from("\n")])] },
    caughtBy: "raw-bytes.newline-removed",
  },
  "unix-line-ends": {
    bug: "turns CRLF into LF before it verifies",
    plant: {
      signedStrings: (t, body) => [
        join(t, Buffer.from(body.toString("latin1").replaceAll("\r\n", "\n"), "latin1")),
      ],
    },
    caughtBy: "raw-bytes.crlf",
    alsoBy: ["raw-bytes.leading-space"],
  },
  "wrong-charset": {
    bug: "takes the body for Latin-1",
    plant: { signedStrings: (t, body) => [`${t}.${body.toString("latin1")}`] },
    caughtBy: "raw-bytes.non-ascii",
    alsoBy: [
      "raw-bytes.emoji",
      "raw-bytes.line-separators",
      "evolution.unknown-language",
      "wire.split-multibyte",
    ],
  },
  "string-concatenation": {
    bug: "adds up chunks as strings, which breaks characters that lie across two",
    plant: {
      readBody: async (request, state) => {
        let text = "";
        request.on("data", (chunk: Buffer) => (text += chunk.toString("utf8")));
        const raw = await CORRECT.readBody(request, state);
        return text.includes("\ufffd") && !raw.includes("\ufffd") && raw.includes("東京")
          ? Buffer.from(text)
          : raw;
      },
    },
    caughtBy: "wire.split-multibyte",
  },
  "no-large-numbers": {
    bug: "refuses numbers that a double cannot hold",
    plant: {
      parse: (body, state) =>
        /9007199254740993/.test(body.toString()) ? undefined : CORRECT.parse(body, state),
    },
    caughtBy: "raw-bytes.big-numbers",
  },
  "prototype-pollution-guard": {
    bug: "refuses bodies with a __proto__ key, as some frameworks do by default",
    plant: {
      parse: (body, state) => (body.includes('"__proto__"') ? undefined : CORRECT.parse(body, state)),
    },
    caughtBy: "raw-bytes.prototype-key",
  },
  "no-nul": {
    bug: "fails on U+0000, as a text column of PostgreSQL does",
    plant: { acceptable: ({ data }) => !JSON.stringify(data).includes(String.raw`\u0000`) || 500 },
    caughtBy: "raw-bytes.nul",
  },
  "whole-numbers": {
    bug: "refuses an integer with a fraction of zero",
    plant: {
      parse: (body, state) =>
        /"created":\d+\.0/.test(body.toString()) ? undefined : CORRECT.parse(body, state),
    },
    caughtBy: "raw-bytes.integer-as-float",
  },
  "lines-by-unicode": {
    bug: "splits the body at every line separator of Unicode and joins it with line breaks",
    plant: {
      signedStrings: (t, body) => [`${t}.${body.toString("utf8").replaceAll(/[\u2028\u2029]/g, "\n")}`],
    },
    caughtBy: "raw-bytes.line-separators",
    alsoBy: ["raw-bytes.replacement-character"],
  },
};
