import { EVENT_TYPES, isEventType, objectSchemas, type EventType } from "../../shared/events.ts";
import type { z } from "zod";
import { didYouMean } from "./suggest.ts";

export type ParsedEventType = { ok: true; type: EventType } | { ok: false; message: string };

/** Reads the name of an event type, as somebody typed it; a refusal names those that there are. */
export function parseEventType(text: string): ParsedEventType {
  if (isEventType(text)) return { ok: true, type: text };
  return {
    ok: false,
    message: `There is no event type ${JSON.stringify(text)}.${didYouMean(text, EVENT_TYPES)} The types are ${EVENT_TYPES.join(", ")}.`,
  };
}

export type FoundField = { ok: true; schema: z.ZodType | undefined } | { ok: false; message: string };

/** Orders and bookings have fields that nobody published: every field is fine there. */
const OPEN_TYPES: readonly EventType[] = ["order.created", "booking.created"];

/** The schema of a field of `data.object`; undefined where every field is fine. A refusal names those that there are. */
export function fieldOf(type: EventType, field: string): FoundField {
  if (OPEN_TYPES.includes(type)) return { ok: true, schema: undefined };
  const shape: Record<string, z.ZodType> = objectSchemas[type].shape;
  const schema = Object.hasOwn(shape, field) ? shape[field] : undefined;
  if (schema !== undefined) return { ok: true, schema };
  const fields = Object.keys(shape);
  return {
    ok: false,
    message: `${field}: ${type} has no such field.${didYouMean(field, fields)} It has ${fields.join(", ")}.`,
  };
}

/** What of `object` cannot be a part of an event of `type`, and why; undefined where all of it can. */
export function objectProblem(
  type: EventType,
  object: Readonly<Record<string, unknown>>,
): string | undefined {
  for (const [field, value] of Object.entries(object)) {
    const found = fieldOf(type, field);
    if (!found.ok) return found.message;
    const problem = found.schema?.safeParse(value).error?.issues[0];
    if (problem !== undefined) return `${[field, ...problem.path].join(".")}: ${problem.message}.`;
  }
  return undefined;
}
