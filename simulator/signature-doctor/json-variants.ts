import { envelopeSchema } from "../../shared/events.ts";
import { bookingSchema, callSchema, orderSchema, voicemailSchema } from "../../shared/resources.ts";

/** How programs write JSON that they have parsed before, by the name of the function that does it. */
export type JsonVariant = { id: string; how: string; write: (value: unknown) => string };

/** Every common way to write a parsed body again. None of them gives back the bytes that were signed. */
export const JSON_VARIANTS: readonly JsonVariant[] = [
  { id: "compact", how: "without spaces, as JSON.stringify does", write: (value) => JSON.stringify(value) },
  {
    id: "indent-2",
    how: "indented by two spaces, as JSON.stringify(body, null, 2) does",
    write: (value) => JSON.stringify(value, null, 2),
  },
  {
    id: "indent-4",
    how: "indented by four spaces, as PHP's JSON_PRETTY_PRINT does",
    write: (value) => JSON.stringify(value, null, 4),
  },
  {
    id: "indent-tab",
    how: "indented by tabs",
    write: (value) => JSON.stringify(value, null, "\t"),
  },
  {
    id: "python",
    how: "with spaces after commas and colons and non-ASCII escaped, as Python's json.dumps does",
    write: (value) => escapeNonAscii(spaced(value)),
  },
  {
    id: "python-unicode",
    how: "with spaces after commas and colons, as Python's json.dumps(ensure_ascii=False) does",
    write: spaced,
  },
  {
    id: "python-sorted",
    how: "sorted, with spaces and non-ASCII escaped, as Python's json.dumps(sort_keys=True) does",
    write: (value) => escapeNonAscii(spaced(sorted(value))),
  },
  { id: "sorted", how: "with sorted keys", write: (value) => JSON.stringify(sorted(value)) },
  {
    id: "ascii",
    how: "with non-ASCII characters escaped as \\uXXXX",
    write: (value) => escapeNonAscii(JSON.stringify(value)),
  },
  {
    id: "slashes",
    how: "with slashes escaped as \\/",
    write: (value) => escapeSlashes(JSON.stringify(value)),
  },
  {
    id: "php",
    how: "with slashes and non-ASCII characters escaped, as PHP's json_encode does",
    write: (value) => escapeNonAscii(escapeSlashes(JSON.stringify(value))),
  },
  {
    id: "go",
    how: "with <, > and & escaped, as Go's json.Marshal does",
    write: (value) => escapeHtml(JSON.stringify(value)),
  },
  {
    id: "go-sorted",
    how: "with sorted keys and <, > and & escaped, as Go does with a map",
    write: (value) => escapeHtml(JSON.stringify(sorted(value))),
  },
  {
    id: "service-order",
    how: "with its keys in another order",
    write: (value) => JSON.stringify(inServiceOrder(value)),
  },
];

/** As JSON.stringify, with a space after each comma and colon that is not inside a string. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (isObject(value)) {
    const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}: ${spaced(member)}`);
    return `{${members.join(", ")}}`;
  }
  return JSON.stringify(value);
}

function sorted(value: unknown): unknown {
  return ordered(value, (object) => Object.keys(object).toSorted());
}

/** The order in which the service writes keys: undoes a sorting on the way. */
function inServiceOrder(value: unknown): unknown {
  return ordered(value, (object) => {
    const known = Object.keys(SCHEMAS.get(object["object"])?.shape ?? envelopeSchema.shape);
    const place = (key: string) => (known.includes(key) ? known.indexOf(key) : known.length);
    return Object.keys(object).toSorted((left, right) => place(left) - place(right));
  });
}

const SCHEMAS = new Map<unknown, { shape: object }>([
  ["call", callSchema],
  ["voicemail", voicemailSchema],
  ["order", orderSchema],
  ["booking", bookingSchema],
]);

function ordered(value: unknown, order: (object: Record<string, unknown>) => string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => ordered(item, order));
  if (!isObject(value)) return value;
  return Object.fromEntries(order(value).map((key) => [key, ordered(value[key], order)]));
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
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
