/** The text of a file, or a whole sentence about why it is none. */
export type DecodedText = { ok: true; text: string } | { ok: false; message: string };

const UTF_16 = [
  [0xff, 0xfe],
  [0xfe, 0xff],
] as const;

/**
 * Decodes a text file that a user wrote (`.env`, secrets, scenarios, envelopes): UTF-8, with or without the byte order mark
 * of Windows' editors, which is no part of the text. `name` is what the message calls the file.
 */
export function decodeText(bytes: Uint8Array, name: string): DecodedText {
  const isUtf16 =
    UTF_16.some((mark) => mark.every((byte, index) => bytes[index] === byte)) ||
    hasEverySecondByteZero(bytes);
  if (isUtf16) return { ok: false, message: `${name} is UTF-16 text: save it as UTF-8.` };
  try {
    return { ok: true, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return { ok: false, message: `${name} is no UTF-8 text: save it as UTF-8.` };
  }
}

/** UTF-16 without a mark, as PowerShell may write it: its first characters are ASCII. */
function hasEverySecondByteZero(bytes: Uint8Array): boolean {
  const start = bytes.subarray(0, 8);
  const isZeroFrom = (first: number) => start.every((byte, index) => (index % 2 === first) === (byte === 0));
  return start.byteLength >= 4 && start.byteLength % 2 === 0 && (isZeroFrom(1) || isZeroFrom(0));
}
