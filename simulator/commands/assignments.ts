import { z } from "zod";
import { isEventType } from "../../shared/events.ts";
import { sampleObjects } from "../../shared/samples.ts";
import { fieldOf, objectProblem } from "../domain/event-type.ts";
import { usageError } from "./command-error.ts";

type Fields = Record<string, unknown>;

/** A place in a list, counted from 0. */
const PLACE = /^\d{1,3}$/;
const listSchema = z.array(z.unknown());
const fieldsSchema = z.record(z.string(), z.unknown());

/**
 * Reads `--set-json` and the `path=value` assignments, which come on top of it, into one object: each value by the type
 * that the schema of the event type gives its field. A path that is not in the schema, or a value that does not fit, ends
 * the command with the fix.
 */
export function assignments(type: string, texts: readonly string[], json?: string): Fields | undefined {
  if (texts.length === 0 && json === undefined) return undefined;
  const object: Fields = json === undefined ? {} : jsonFields(type, json);
  const sample: Fields = isEventType(type) ? sampleObjects[type] : {};
  for (const text of texts) {
    const separator = text.indexOf("=");
    if (separator <= 0) throw usageError(`--set ${text}: write path=value, such as outcome=completed.`);
    const path = text.slice(0, separator).split(".");
    if (path.some((part) => part === "" || part === "__proto__"))
      throw usageError(`--set ${text}: a part of the path is empty.`);
    const [field = "", ...inside] = path;
    // Where the made-up object has a list, one of its places is changed; otherwise a new list begins.
    const isListed = Array.isArray(object[field] ?? sample[field]);
    if (isListed && inside[0] !== undefined && !PLACE.test(inside[0]))
      throw usageError(`--set ${text}: ${field} is a list: write the place of an item, as in ${field}.0.`);
    const isMadeUp = isListed && object[field] === undefined;
    object[field] = withValue(
      isMadeUp ? {} : object[field],
      inside,
      valueOf(type, path, text.slice(separator + 1)),
    );
  }
  return object;
}

function jsonFields(type: string, json: string): Fields {
  const parsed = fieldsSchema.safeParse(jsonOrText(json));
  if (!parsed.success)
    throw usageError(`--set-json ${json}: give a JSON object, such as '{"outcome":"completed"}'.`);
  const problem = isEventType(type) ? objectProblem(type, parsed.data) : undefined;
  if (problem !== undefined) throw usageError(`--set-json ${problem}`);
  return parsed.data;
}

function valueOf(type: string, path: readonly string[], text: string): unknown {
  const [field = "", ...inside] = path;
  const schema = schemaOf(type, field);
  if (schema === undefined) return jsonOrText(text);
  if (inside.length === 0) return fitting(schema, text, `--set ${field}=${text}`);
  // What is inside a field whose form is not stated may be anything; a text or a number has no inside.
  if (schema.safeParse({}).success) return jsonOrText(text);
  throw usageError(
    `--set ${path.join(".")}: ${field} of ${type} has no fields of its own. Write --set ${field}=VALUE.`,
  );
}

/** The schema of a field; undefined where every field is fine. A field that cannot be ends the command. */
function schemaOf(type: string, field: string): z.ZodType | undefined {
  if (!isEventType(type)) return undefined;
  const found = fieldOf(type, field);
  if (!found.ok) throw usageError(`--set ${found.message}`);
  return found.schema;
}

/** A string field takes the text as it is; another one takes what the text says as JSON. */
function fitting(schema: z.ZodType, text: string, what: string): unknown {
  const asJson = jsonOrText(text);
  if (typeof asJson !== "string" && schema.safeParse(asJson).success) return asJson;
  const parsed = schema.safeParse(text);
  if (parsed.success) return text;
  // A text that happens to be a number is told as a text, where the field is one.
  const wantsText = schema.safeParse("").error?.issues.every(({ code }) => code !== "invalid_type") ?? true;
  const problem = (wantsText ? parsed : schema.safeParse(asJson)).error?.issues[0]?.message;
  throw usageError(`${what}: ${problem ?? "the value does not fit"}.`);
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** `current` with `value` at `path`. A number in the path is a place in a list: `items.0.name`. */
function withValue(current: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const fields = fieldsSchema.safeParse(current);
  if (PLACE.test(key) && !fields.success) {
    const listed = listSchema.safeParse(current);
    const list = listed.success ? [...listed.data] : [];
    const place = Number(key);
    if (place > list.length) throw usageError(`--set: the place ${place} of a list needs those before it.`);
    list[place] = withValue(list[place], rest, value);
    return list;
  }
  const inner = fields.success ? fields.data : {};
  return { ...inner, [key]: withValue(inner[key], rest, value) };
}
