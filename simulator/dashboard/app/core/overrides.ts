import type { EventTypeForm } from "./types.ts";
import { parsed } from "../components/code-view.tsx";

type Kind = "boolean" | "integer" | "json" | "long" | "text";
type JsonSchema = { type?: unknown; anyOf?: unknown };
export type OverrideField = { name: string; kind: Kind; example: unknown };
export type Values = Record<string, string>;
export type Overrides = { ok: true; object: Record<string, unknown> } | { ok: false; message: string };

const LONG = new Set(["transcript", "message_text", "notes"]);
/** Told by the type of the event itself. */
const FIXED = new Set(["object"]);

/** The fields of an event type's object, from its JSON Schema: name, kind of input, example. */
export function fieldsOf({ schema, example }: EventTypeForm): OverrideField[] {
  return Object.entries(schema.properties ?? {})
    .filter(([name]) => !FIXED.has(name))
    .map(([name, property]) => ({
      name,
      kind: kindOf(name, property === true || property === false ? {} : property),
      example: new Map<string, unknown>(Object.entries(example)).get(name),
    }));
}

/** What was filled in, as the object to send; the JSON of further fields is merged in. */
export function overridesOf(fields: OverrideField[], values: Values, extra: string): Overrides {
  const object: Record<string, unknown> = {};
  for (const { name, kind } of fields) {
    const value = values[name] ?? "";
    if (value !== "") object[name] = read(kind, value);
  }
  const more = parsed(extra.trim() || "{}");
  if (!more.ok) return more;
  if (typeof more.value !== "object" || more.value === null || Array.isArray(more.value))
    return { ok: false, message: 'Write an object, such as { "notes": "ring twice" }.' };
  return { ok: true, object: Object.assign(object, more.value) };
}

function kindOf(name: string, property: JsonSchema): Kind {
  if (property.type === "boolean") return "boolean";
  if (property.type === "integer") return "integer";
  if (LONG.has(name)) return "long";
  // No type at all: the service does not say which form it has.
  return property.type === undefined && property.anyOf === undefined ? "json" : "text";
}

function read(kind: Kind, value: string): unknown {
  if (kind === "boolean") return value === "true";
  if (kind === "integer") return Number(value);
  const json = kind === "json" ? parsed(value) : undefined;
  return json?.ok ? json.value : value;
}
