import { z } from "zod";
import { isEventType, objectSchemas, type EventType } from "../../shared/events.ts";
import { didYouMean } from "../domain/suggest.ts";
import { CommandError, EXIT } from "./command-error.ts";

/** Orders and bookings have fields that nobody published: every path is fine there. */
const OPEN_TYPES: readonly EventType[] = ["order.created", "booking.created"];

/**
 * Reads `path=value` assignments into one object, each value by the type that the schema of the event type gives its
 * field. A path that is not in the schema, or a value that does not fit, ends the command with the fix.
 */
export function assignments(type: string, texts: readonly string[]): Record<string, unknown> | undefined {
  if (texts.length === 0) return undefined;
  const object: Record<string, unknown> = {};
  for (const text of texts) {
    const separator = text.indexOf("=");
    if (separator <= 0) throw usage(`--set ${text}: write path=value, such as outcome=completed.`);
    const path = text.slice(0, separator).split(".");
    if (path.some((part) => part === "" || part === "__proto__"))
      throw usage(`--set ${text}: a part of the path is empty.`);
    assign(object, path, valueOf(type, path, text.slice(separator + 1)));
  }
  return object;
}

function valueOf(type: string, path: readonly string[], text: string): unknown {
  const [field = "", ...rest] = path;
  if (!isEventType(type) || OPEN_TYPES.includes(type)) return jsonOrText(text);
  const shape: Record<string, z.ZodType> = objectSchemas[type].shape;
  const schema = shape[field];
  if (schema === undefined) {
    const fields = Object.keys(shape);
    throw usage(
      `--set ${field}: ${type} has no such field.${didYouMean(field, fields)} It has ${fields.join(", ")}.`,
    );
  }
  if (rest.length > 0) return jsonOrText(text);
  return fitting(schema, text, `--set ${field}=${text}`);
}

/** A string field takes the text as it is; another one takes what the text says as JSON. */
function fitting(schema: z.ZodType, text: string, what: string): unknown {
  const asJson = jsonOrText(text);
  if (typeof asJson !== "string" && schema.safeParse(asJson).success) return asJson;
  const parsed = schema.safeParse(text);
  if (parsed.success) return text;
  const problem = schema.safeParse(asJson).error?.issues[0]?.message ?? parsed.error.issues[0]?.message;
  throw usage(`${what}: ${problem ?? "the value does not fit"}.`);
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function assign(object: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [field = "", ...rest] = path;
  if (rest.length === 0) {
    object[field] = value;
    return;
  }
  const inner = z.record(z.string(), z.unknown()).safeParse(object[field]);
  const child = inner.success ? inner.data : {};
  object[field] = child;
  assign(child, rest, value);
}

function usage(message: string): CommandError {
  return new CommandError(message, EXIT.wrongUsage);
}
