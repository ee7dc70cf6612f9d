import { isPrintable } from "../../shared/text.ts";

/** `text` as one word of bash or zsh without expansions; unquoted if it has no special characters. */
export function shellWord(text: string): string {
  return /^[\w./:=@,+-]+$/.test(text) ? text : quoted(text);
}

/** Text or bytes as one quoted word of bash or zsh; characters that cannot be pasted are escaped, zero ends the word. */
export function quoted(value: string | Uint8Array): string {
  const bytes = Buffer.from(value);
  const text = bytes.toString("utf8");
  if (Buffer.from(text).equals(bytes) && isPrintable(text)) return singleQuoted(text);
  return `$'${escaped(bytes, { "\\": String.raw`\\`, "'": String.raw`\'`, "\n": String.raw`\n` })}'`;
}

/** A command that writes exactly `bytes` to its output, in one line that can be pasted. */
export function printfOf(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString("utf8");
  if (Buffer.from(text).equals(bytes) && isPrintable(text)) return `printf %s ${singleQuoted(text)}`;
  const format = escaped(bytes, { "\\": String.raw`\\`, "%": "%%", "\n": String.raw`\n` });
  // A format that begins with a hyphen would be an option.
  return `printf ${singleQuoted(format.replace(/^-/, String.raw`\055`))}`;
}

/** `bytes` with octal escapes for unprintable characters, and with replaced `special` characters. */
function escaped(bytes: Uint8Array, special: Record<string, string>): string {
  const text = Buffer.from(bytes).toString("utf8");
  const isText = Buffer.from(text).equals(bytes);
  const characters = isText ? text : Buffer.from(bytes).toString("latin1");
  return Array.from(characters, (character) => {
    const isShown = isText ? isPrintable(character) : /[\x20-\x7e]/.test(character);
    return (
      special[character] ?? (isShown ? character : octal(Buffer.from(character, isText ? "utf8" : "latin1")))
    );
  }).join("");
}

function octal(bytes: Buffer): string {
  return [...bytes].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
}

function singleQuoted(text: string): string {
  // Two number signs in a row begin a command of some build servers, which parse every line of a log.
  return `'${text.replaceAll("'", String.raw`'\''`).replaceAll("##", "#''#")}'`;
}
