declare global {
  interface JSON {
    /** A value that `JSON.stringify` writes as `text`, to the letter. */
    rawJSON(text: string): unknown;
  }
}

/** A double holds this many decimal digits of any number. */
const SAFE_DIGITS = 15;

/** Parses JSON so that `JSON.stringify` writes each number as it was, those that are too long for a double included. */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, exactNumbers);
}

/** The same of a text that may be no JSON: undefined then. */
export function jsonOf(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return undefined;
  }
}

/** The reviver that does it, for parsers that take one. */
export function exactNumbers(_key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== "number" || source === undefined || source.length <= SAFE_DIGITS) return value;
  return String(value) === source ? value : JSON.rawJSON(source);
}

/** Whether two JSON values say the same, whatever the order of the keys in their objects. */
export function isSameJson(left: unknown, right: unknown): boolean {
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) {
    return left === right;
  }
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const [own, other] = [Object.entries(left), new Map<string, unknown>(Object.entries(right))];
  return (
    own.length === other.size &&
    own.every(([key, value]) => other.has(key) && isSameJson(value, other.get(key)))
  );
}
