/** How programs write JSON that they have parsed before, by the name of the function that does it. */
export type JsonVariant = {
  id: string;
  how: string;
  /** Parses numbers as that program does, if they differ from JavaScript's. */
  read: (text: string) => unknown;
  write: (value: unknown) => string;
};

/** Every common way to serialize a parsed body again. None of them restores the signed bytes. */
export const JSON_VARIANTS: readonly JsonVariant[] = [
  variant("compact", "without spaces, as JSON.stringify does", (value) => JSON.stringify(value)),
  variant("indent-2", "indented by two spaces, as JSON.stringify(body, null, 2) does", (value) =>
    JSON.stringify(value, null, 2),
  ),
  variant("indent-4", "indented by four spaces, as PHP's JSON_PRETTY_PRINT does", (value) =>
    JSON.stringify(value, null, 4),
  ),
  variant("indent-tab", "indented by tabs", (value) => JSON.stringify(value, null, "\t")),
  python(
    "python",
    "with spaces after commas and colons and non-ASCII escaped, as Python's json.dumps does",
    (value) => escapeNonAscii(spaced(value)),
  ),
  python(
    "python-unicode",
    "with spaces after commas and colons, as Python's json.dumps(ensure_ascii=False) does",
    (value) => spaced(value),
  ),
  python(
    "python-sorted",
    "sorted, with spaces and non-ASCII escaped, as Python's json.dumps(sort_keys=True) does",
    (value) => escapeNonAscii(spaced(sorted(value))),
  ),
  variant("sorted", "with sorted keys", (value) => JSON.stringify(sorted(value))),
  variant("ascii", "with non-ASCII characters escaped as \\uXXXX", (value) =>
    escapeNonAscii(JSON.stringify(value)),
  ),
  variant("slashes", "with slashes escaped as \\/", (value) => escapeSlashes(JSON.stringify(value))),
  variant("php", "with slashes and non-ASCII characters escaped, as PHP's json_encode does", (value) =>
    escapeNonAscii(escapeSlashes(JSON.stringify(value))),
  ),
  variant("go", "with <, > and & escaped, as Go's json.Marshal does", (value) =>
    escapeHtml(JSON.stringify(value)),
  ),
  variant("go-sorted", "with sorted keys and <, > and & escaped, as Go does with a map", (value) =>
    escapeHtml(JSON.stringify(sorted(value))),
  ),
];

function variant(id: string, how: string, write: JsonVariant["write"]): JsonVariant {
  return { id, how, read: JSON.parse, write };
}

function python(id: string, how: string, write: JsonVariant["write"]): JsonVariant {
  return { id, how, read: (text): unknown => JSON.parse(text, pythonNumbers), write };
}

/** Keeps integers of any length, and writes floats as Python's repr() does: 1.0, 1e-05. */
function pythonNumbers(_key: string, value: unknown, context?: { source?: string }): unknown {
  // A number beyond a double is Infinity in Python, which is not JSON.
  if (typeof value !== "number" || context?.source === undefined || !Number.isFinite(value)) return value;
  const isFloat = /[.eE]/.test(context.source);
  return JSON.rawJSON(isFloat ? pythonFloat(value) : context.source);
}

function pythonFloat(value: number): string {
  const [digits = "", exponent = "0"] = value.toExponential().split("e");
  const power = Number(exponent);
  if (power < -4 || power >= 16)
    return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  const text = String(value);
  return text.includes(".") ? text : `${text}.0`;
}

function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (isObject(value)) {
    const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}: ${spaced(member)}`);
    return `{${members.join(", ")}}`;
  }
  return JSON.stringify(value);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const keys = Object.keys(value).toSorted();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key])]));
}

function escapeNonAscii(json: string): string {
  return json.replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function escapeSlashes(json: string): string {
  return json.replaceAll("/", "\\/");
}

function escapeHtml(json: string): string {
  return json.replaceAll("<", "\\u003c").replaceAll(">", "\\u003e").replaceAll("&", "\\u0026");
}

function isObject(value: unknown): value is Record<string, unknown> {
  // A value of JSON.rawJSON() has no prototype; it is a number.
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    Object.getPrototypeOf(value) !== null
  );
}
