declare global {
  interface JSON {
    /** A value that `JSON.stringify` writes exactly as `text`. */
    rawJSON(text: string): unknown;
  }
}

/** Any number of so many decimal digits fits a double, unless it has a large exponent. */
const SAFE_DIGITS = 15;

/** Parses JSON so that `JSON.stringify` writes each number unchanged, even one too long for a double. */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, exactNumbers);
}

/** The same; undefined for a text that is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return undefined;
  }
}

export function exactNumbers(_key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== "number" || source === undefined) return value;
  if (source.length <= SAFE_DIGITS && Number.isFinite(value)) return value;
  return String(value) === source ? value : JSON.rawJSON(source);
}
