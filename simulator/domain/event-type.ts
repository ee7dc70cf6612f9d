import {
  EVENT_TYPES,
  hasOpenShape,
  isEventType,
  objectSchemas,
  type EventType,
} from "../../shared/events.ts";
import type { z } from "zod";
import { didYouMean } from "./suggest.ts";
import { type Refused, refused } from "./refused.ts";

export type ParsedEventType = { ok: true; type: EventType } | Refused;

/** Reads the name of an event type, as somebody typed it; a refusal names those that there are. */
export function parseEventType(text: string): ParsedEventType {
  if (isEventType(text)) return { ok: true, type: text };
  return refused(
    `There is no event type ${JSON.stringify(text)}.${didYouMean(text, EVENT_TYPES)} The types are ${EVENT_TYPES.join(", ")}.`,
  );
}

export type FoundField = { ok: true; schema: z.ZodType | undefined } | Refused;

/** The schema of a field of `data.object`; undefined where every field is fine. A refusal names those that there are. */
export function fieldOf(type: EventType, field: string): FoundField {
  if (hasOpenShape(type)) return { ok: true, schema: undefined };
  const shape: Record<string, z.ZodType> = objectSchemas[type].shape;
  const schema = Object.hasOwn(shape, field) ? shape[field] : undefined;
  if (schema !== undefined) return { ok: true, schema };
  const fields = Object.keys(shape);
  return refused(
    `${field}: ${type} has no such field.${didYouMean(field, fields)} It has ${fields.join(", ")}.`,
  );
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

/**
 * Why `object` makes no sense for a call of an organization with these agents; undefined where it does. `call` is the call
 * that was made from it.
 */
export function callProblem(
  object: Readonly<Record<string, unknown>>,
  call: Readonly<Record<string, unknown>>,
  agentIds: readonly string[],
): string | undefined {
  const { agent_id: agentId } = object;
  if (typeof agentId === "string" && !agentIds.includes(agentId)) {
    return `agent_id: the organization has no agent ${JSON.stringify(agentId)}.${didYouMean(agentId, agentIds)} It has ${agentIds.join(", ")}.`;
  }
  const isAboutTransfer = ["transferred", "transfer_to", "transfer_succeeded"].some((field) =>
    Object.hasOwn(object, field),
  );
  const isContradiction =
    call["transferred"] === false && (call["transfer_to"] !== null || call["transfer_succeeded"] !== null);
  return isAboutTransfer && isContradiction
    ? "transferred: it is false, and only a call that was transferred has transfer_to and transfer_succeeded (SPEC §2 call): set it to true, or leave those two out."
    : undefined;
}
