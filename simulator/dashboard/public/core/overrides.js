const LONG = new Set(["transcript", "message_text", "notes"]);
/** Told by the type of the event itself. */
const FIXED = new Set(["object"]);

/** The fields of an event type's object, from its JSON Schema: name, kind of input, example. */
export function fieldsOf({ schema, example }) {
  return Object.entries(schema.properties ?? {})
    .filter(([name]) => !FIXED.has(name))
    .map(([name, property]) => ({ name, kind: kindOf(name, property), example: example[name] }));
}

/** What was filled in, as the object to send; the JSON of further fields is merged in. */
export function overridesOf(fields, values, extra) {
  const object = {};
  for (const { name, kind } of fields) {
    const value = values[name] ?? "";
    if (value !== "") object[name] = read(kind, value);
  }
  if (extra.trim() === "") return { ok: true, object };
  try {
    const more = JSON.parse(extra);
    if (typeof more !== "object" || more === null || Array.isArray(more))
      return { ok: false, message: 'Write an object, such as { "notes": "ring twice" }.' };
    return { ok: true, object: { ...object, ...more } };
  } catch (error) {
    return { ok: false, message: `This is not JSON yet: ${error.message}` };
  }
}

function kindOf(name, property) {
  if (property.type === "boolean") return "boolean";
  if (property.type === "integer") return "integer";
  if (LONG.has(name)) return "long";
  // No type at all: the service does not say which form it has.
  return property.type === undefined && property.anyOf === undefined ? "json" : "text";
}

function read(kind, value) {
  if (kind === "boolean") return value === "true";
  if (kind === "integer") return Number(value);
  if (kind !== "json") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
