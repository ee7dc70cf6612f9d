/** Characters that a terminal might act on, or would not show as they are. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Two number signs before a bracketed word begin a command to build servers, anywhere in a line. */
const BUILD_COMMAND = /##(?=\w*\[)/g;

/** Two colons do so at the beginning of a line. */
const WORKFLOW_COMMAND = /^(\s*):(?=:)/;

const SHORT: Record<string, string> = { "\n": String.raw`\n`, "\r": String.raw`\r`, "\t": String.raw`\t` };

/** Fast path for nearly every log line: ASCII without a number sign. */
const PLAIN_JSON = /^[\n\x20-\x22\x24-\x7e]*$/;

/**
 * `text` as one line that is safe to print: it cannot steer a terminal, begin another line, or be a command to a build server
 * that reads its log (`::error::`, `##vso[…]`). All foreign text (events, answers, files, databases) is printed through this
 * or `printableJson`. Printable text stays unchanged.
 */
export function printable(text: string): string {
  return text
    .replaceAll(UNPRINTABLE, (character) => SHORT[character] ?? escape(character))
    .replace(WORKFLOW_COMMAND, String.raw`$1\:`)
    .replaceAll(BUILD_COMMAND, String.raw`#\#`);
}

/** JSON that means the same to a program, and nothing to a terminal or a build server. Its line breaks are ours. */
export function printableJson(json: string): string {
  if (PLAIN_JSON.test(json)) return json;
  // Outside its strings, JSON is printable; inside them it has its own escapes.
  return json
    .replaceAll(UNPRINTABLE, (character) => (character === "\n" ? character : escape(character)))
    .replaceAll(BUILD_COMMAND, String.raw`#\u0023`);
}

/** Whether every character of `text` is visible, and safe to paste into a terminal. */
export function isPrintable(text: string): boolean {
  return text.search(UNPRINTABLE) === -1;
}

/** The UTF-16 units of a character, escaped as in JSON and JavaScript. */
function escape(character: string): string {
  return character.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The text of a file, or a whole sentence that says why it is not text. */
export type DecodedText = { ok: true; text: string } | { ok: false; message: string };

const UTF_16 = [
  [0xff, 0xfe],
  [0xfe, 0xff],
] as const;

/**
 * Decodes a text file written by a user (`.env`, secrets, scenarios, envelopes): UTF-8, with or without the byte order mark
 * of Windows' editors, which is removed. `name` is the file's name in the message.
 */
export function decodeText(bytes: Uint8Array, name: string): DecodedText {
  const isUtf16 =
    UTF_16.some((mark) => mark.every((byte, index) => bytes[index] === byte)) ||
    hasEverySecondByteZero(bytes);
  if (isUtf16) return { ok: false, message: `${name} is UTF-16 text: save it as UTF-8.` };
  try {
    return { ok: true, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return { ok: false, message: `${name} is not UTF-8 text: save it as UTF-8.` };
  }
}

/** UTF-16 without a mark, as PowerShell may write it: its first characters are ASCII. */
function hasEverySecondByteZero(bytes: Uint8Array): boolean {
  const start = bytes.subarray(0, 8);
  const isZeroFrom = (first: number) => start.every((byte, index) => (index % 2 === first) === (byte === 0));
  return start.byteLength >= 4 && start.byteLength % 2 === 0 && (isZeroFrom(1) || isZeroFrom(0));
}
