import type { Mutant } from "../mutants.ts";
import { CORRECT } from "../behaviour.ts";
import { join, rewritten, swapped, isReversed, reversed } from "./helpers.ts";

/** Bugs in what is verified, and in how the body is read. */
export const BYTES: Record<string, Mutant> = {
  reserializes: {
    bug: "verifies over JSON that it wrote again",
    plant: { signedStrings: (t, body) => [join(t, Buffer.from(rewritten(body)))] },
    caughtBy: "raw-bytes.reformatted",
    cause: "forgery_accepted",
    alsoCauses: ["signature_refused"],
  },
  "documented-order": {
    bug: "puts the keys into the documented order before it verifies",
    plant: { signedStrings: (t, body) => [join(t, isReversed(body) ? reversed(body) : body)] },
    caughtBy: "raw-bytes.key-order",
    cause: "signature_refused",
  },
  "reserializes-too": {
    bug: "falls back on JSON that it wrote again",
    plant: { signedStrings: (t, body) => [join(t, body), join(t, Buffer.from(rewritten(body)))] },
    caughtBy: "raw-bytes.reformatted",
    cause: "forgery_accepted",
  },
  "decodes-first": {
    bug: "verifies over decoded text, in which invalid bytes are all one",
    plant: { signedStrings: (t, body) => [`${t}.${body.toString("utf8")}`] },
    caughtBy: "raw-bytes.replacement-character",
    cause: "forgery_accepted",
  },
  "decodes-leniently": {
    bug: "verifies over decoded text, with invalid bytes dropped on both sides",
    plant: { signedStrings: (t, body) => [join(t, body), ...swapped(body).map((other) => join(t, other))] },
    caughtBy: "raw-bytes.invalid-bytes",
    cause: "forgery_accepted",
  },
  "drops-the-mark": {
    bug: "verifies over text decoded without its byte order mark",
    plant: {
      signedStrings: (t, body) => [join(t, body.subarray(body.indexOf("\ufeff") === 0 ? 3 : 0))],
      parse: (body, state) => CORRECT.parse(body.subarray(body.indexOf("\ufeff") === 0 ? 3 : 0), state),
    },
    caughtBy: "raw-bytes.byte-order-mark",
    cause: "forgery_accepted",
  },
  trims: {
    bug: "trims the body before it verifies",
    plant: {
      signedStrings: (t, body) =>
        [`${t}.${body.toString("latin1").trim()}`].map((text) => Buffer.from(text, "latin1")),
    },
    caughtBy: "raw-bytes.trailing-newline",
    cause: "signature_refused",
    alsoCauses: ["forgery_accepted"],
  },
  "adds-newline": {
    bug: "tries the body with a line break behind it as well",
    plant: { signedStrings: (t, body) => [join(t, body), Buffer.concat([join(t, body), Buffer.from("\n")])] },
    caughtBy: "raw-bytes.newline-removed",
    cause: "forgery_accepted",
  },
  "unix-line-ends": {
    bug: "turns CRLF into LF before it verifies",
    plant: {
      signedStrings: (t, body) => [
        join(t, Buffer.from(body.toString("latin1").replaceAll("\r\n", "\n"), "latin1")),
      ],
    },
    caughtBy: "raw-bytes.crlf",
    cause: "signature_refused",
  },
  "wrong-charset": {
    bug: "takes the body for Latin-1",
    plant: { signedStrings: (t, body) => [`${t}.${body.toString("latin1")}`] },
    caughtBy: "raw-bytes.non-ascii",
    cause: "signature_refused",
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
    cause: "signature_refused",
  },
  "no-large-numbers": {
    bug: "refuses numbers that a double cannot hold",
    plant: {
      parse: (body, state) =>
        /9007199254740993/.test(body.toString()) ? undefined : CORRECT.parse(body, state),
    },
    caughtBy: "raw-bytes.big-numbers",
    cause: "refused",
  },
  "prototype-pollution-guard": {
    bug: "refuses bodies with a __proto__ key, as some frameworks do by default",
    plant: {
      parse: (body, state) => (body.includes('"__proto__"') ? undefined : CORRECT.parse(body, state)),
    },
    caughtBy: "raw-bytes.prototype-key",
    cause: "refused",
  },
  "no-nul": {
    bug: "fails on U+0000, as a text column of PostgreSQL does",
    plant: { acceptable: ({ data }) => !JSON.stringify(data).includes(String.raw`\u0000`) || 500 },
    caughtBy: "raw-bytes.nul",
    cause: "server_error",
  },
  "whole-numbers": {
    bug: "refuses an integer with a fraction of zero",
    plant: {
      parse: (body, state) =>
        /"created":\d+\.0/.test(body.toString()) ? undefined : CORRECT.parse(body, state),
    },
    caughtBy: "raw-bytes.integer-as-float",
    cause: "refused",
  },
  "lines-by-unicode": {
    bug: "splits the body at every line separator of Unicode and joins it with line breaks",
    plant: {
      signedStrings: (t, body) => [`${t}.${body.toString("utf8").replaceAll(/[\u2028\u2029]/g, "\n")}`],
    },
    caughtBy: "raw-bytes.line-separators",
    cause: "signature_refused",
    alsoCauses: ["forgery_accepted"],
  },
};
