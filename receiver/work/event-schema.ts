import { z } from "zod";
import { envelopeSchema, isEventType, objectSchemas, type EventType } from "../../shared/events.ts";

/** The schema of an envelope with this `data.object`. */
export function schemaWith(object: z.ZodType) {
  return envelopeSchema.extend({ data: z.looseObject({ object }) });
}

const lenientSchemas = new Map<EventType, ReturnType<typeof schemaWith>>();
const anything = schemaWith(z.looseObject({}));
const typeSchema = z.looseObject({ type: z.string() }).catch({ type: "" });

/** The schema for handlers without one, by the event's type: a documented field has its documented kind, or is missing. */
export function lenientSchemaFor(envelope: unknown): ReturnType<typeof schemaWith> {
  const { type } = typeSchema.parse(envelope);
  if (!isEventType(type)) return anything;
  let schema = lenientSchemas.get(type);
  if (!schema) {
    const fields = Object.entries(objectSchemas[type].shape).map(([name, field]: [string, z.ZodType]) => {
      // A text in a new format is still that text.
      const kind = field instanceof z.ZodString ? z.string() : field;
      return [name, kind.nullish().catch(undefined)] as const;
    });
    lenientSchemas.set(type, (schema = schemaWith(z.looseObject(Object.fromEntries(fields)))));
  }
  return schema;
}
