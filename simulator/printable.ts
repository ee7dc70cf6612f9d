/** Whatever a terminal might act on, or would not show as what it is. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Two number signs before a word in a bracket begin a command to build servers, wherever in a line they stand. */
const BUILD_COMMAND = /##(?=\w*\[)/g;

const SHORT: Record<string, string> = { "\n": String.raw`\n`, "\r": String.raw`\r`, "\t": String.raw`\t` };

/**
 * `text` as one line that can be shown to anybody: nothing in it steers a terminal, begins another line, or is taken for
 * a command by a build server that reads its log (`::error::`, `##vso[…]`). Whatever others say (receivers, events,
 * answers, files) leaves the program through here. What is printable already stays as it is.
 */
export function printable(text: string): string {
  return text
    .replaceAll(UNPRINTABLE, (character) => SHORT[character] ?? escape(character))
    .replace(/^(\s*):(?=:)/, String.raw`$1\:`)
    .replaceAll(BUILD_COMMAND, String.raw`#\#`);
}

/** `value` as JSON that means the same to a program, and nothing to a terminal or a build server. */
export function printableJson(value: unknown, indent?: number): string {
  // Everything outside its strings is printable; inside them JSON has escapes of its own. Line breaks are ours.
  return JSON.stringify(value, null, indent)
    .replaceAll(UNPRINTABLE, (character) => (character === "\n" ? character : escape(character)))
    .replaceAll(BUILD_COMMAND, String.raw`#\u0023`);
}

/** Whether each character of `text` can be seen, and pasted into a terminal without being taken for a key. */
export function isPrintable(text: string): boolean {
  return text.search(UNPRINTABLE) === -1;
}

/** The UTF-16 units of a character as JSON and JavaScript write them. */
function escape(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}

/** What is to be told of an error that nobody foresaw: its message and the place of ours where it arose, in one line. */
export function describeBug(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const place = /[^/(\s]+:\d+(?=:\d+\)?$)/m.exec(error.stack ?? "")?.[0];
  return place === undefined ? error.message : `${error.message} (${place})`;
}
