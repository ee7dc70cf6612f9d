import {
  EVENT_TYPES,
  hasOpenShape,
  isEventType,
  objectSchemas,
  type EventType,
} from "../../shared/events.ts";
import type { z } from "zod";
import { didYouMean, type Refused, refused } from "./refused.ts";

export type ParsedEventType = { ok: true; type: EventType } | Refused;

export function parseEventType(text: string): ParsedEventType {
  if (isEventType(text)) return { ok: true, type: text };
  return refused(
    `There is no event type ${JSON.stringify(text)}.${didYouMean(text, EVENT_TYPES)} The types are ${EVENT_TYPES.join(", ")}.`,
  );
}

/** What of `object` cannot be a part of an event of `type`, and why; undefined where all of it can. */
export function objectProblem(
  type: EventType,
  object: Readonly<Record<string, unknown>>,
): string | undefined {
  if (hasOpenShape(type)) return undefined;
  const shape: Record<string, z.ZodType> = objectSchemas[type].shape;
  const fields = Object.keys(shape);
  for (const [field, value] of Object.entries(object)) {
    const schema = Object.hasOwn(shape, field) ? shape[field] : undefined;
    if (schema === undefined)
      return `${field}: ${type} has no such field.${didYouMean(field, fields)} It has ${fields.join(", ")}.`;
    const problem = schema.safeParse(value).error?.issues[0];
    if (problem !== undefined) return `${[field, ...problem.path].join(".")}: ${problem.message}.`;
  }
  return undefined;
}
