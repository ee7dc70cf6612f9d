/** The maximum depth and number of values, far above those of ordinary texts. */
const MOST_LEVELS = 64;
const MOST_VALUES = 250_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** Why a JSON text must not be parsed: deep nesting overflows the stack, and a million keys block the process. */
export function jsonShapeProblem(text: Uint8Array, mostValues = MOST_VALUES): string | undefined {
  let levels = 0;
  let values = 0;
  let isText = false;
  for (let at = 0; at < text.byteLength; at++) {
    const byte = text[at] ?? 0;
    if (isText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if (byte === OPENING_BRACKET || byte === OPENING_BRACE) {
      levels += 1;
      values += 1;
      if (levels > MOST_LEVELS) return `it is nested deeper than ${MOST_LEVELS} levels`;
    } else if (byte === CLOSING_BRACKET || byte === CLOSING_BRACE) levels -= 1;
    else if (byte === COMMA) values += 1;
    if (values > mostValues) return `it has more than ${mostValues.toLocaleString("en")} values`;
  }
  return undefined;
}
