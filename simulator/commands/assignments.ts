import { z } from "zod";
import { isEventType, objectSchemas } from "../../shared/events.ts";
import { sampleObjects } from "../../shared/samples.ts";
import { usageError } from "./command-error.ts";

type Fields = Record<string, unknown>;

const PLACE = /^\d{1,3}$/;
const listSchema = z.array(z.unknown());
const fieldsSchema = z.record(z.string(), z.unknown());

/** Reads the `path=value` assignments into one object; values are JSON, or text where the field is one. */
export function assignments(type: string, texts: readonly string[]): Fields | undefined {
  if (texts.length === 0) return undefined;
  const object: Fields = {};
  const sample: Fields = isEventType(type) ? sampleObjects[type] : {};
  for (const text of texts) {
    const separator = text.indexOf("=");
    if (separator <= 0) throw usageError(`--set ${text}: write path=value, such as outcome=completed.`);
    const path = text.slice(0, separator).split(".");
    if (path.includes("__proto__")) throw usageError(`--set ${text}: no field can be called __proto__.`);
    if (path.includes(""))
      throw usageError(`--set ${text}: the path has an empty part; write names with one dot between.`);
    const [field = "", ...inside] = path;
    // If the generated object has a list, one of its items is changed; otherwise a new list begins.
    const isListed = Array.isArray(object[field] ?? sample[field]);
    if (isListed && inside[0] !== undefined && !PLACE.test(inside[0]))
      throw usageError(`--set ${text}: ${field} is a list; give an item's number, as in ${field}.0.`);
    const isMadeUp = isListed && object[field] === undefined;
    object[field] = withValue(
      isMadeUp ? {} : object[field],
      inside,
      valueOf(type, path, text.slice(separator + 1)),
    );
  }
  return object;
}

function valueOf(type: string, [field = "", ...inside]: readonly string[], text: string): unknown {
  const value = jsonOrText(text);
  const shape: Record<string, z.ZodType> = isEventType(type) ? objectSchemas[type].shape : {};
  const schema = inside.length === 0 && Object.hasOwn(shape, field) ? shape[field] : undefined;
  if (schema === undefined || schema.safeParse(value).success) return value;
  // A text may happen to be a number.
  const isText = schema.safeParse("").error?.issues.every(({ code }) => code !== "invalid_type") ?? true;
  return isText ? text : value;
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
    if (place > list.length) throw usageError(`--set: item ${place} of a list needs the items before it.`);
    list[place] = withValue(list[place], rest, value);
    return list;
  }
  const inner = fields.success ? fields.data : {};
  return { ...inner, [key]: withValue(inner[key], rest, value) };
}
