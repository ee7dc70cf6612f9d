import { z } from "zod";
import { envelopeSchema, objectSchemas, type EventObject, type EventType } from "../../shared/events.ts";

/** An event as a handler sees it: the envelope, with `data.object` as the handler's schema describes it. */
export type HandledEvent<Type extends string = string, Shape = unknown> = {
  id: string;
  type: "*" extends Type ? string : Type;
  /** Unix time in seconds. */
  created: number;
  api_version: string;
  org_id: string;
  data: { object: Shape };
};

/** `data.object` for a handler without a schema: every documented field may be missing or null. */
export type Lenient<Type extends string> = Type extends EventType
  ? { [Field in keyof EventObject<Type>]?: EventObject<Type>[Field] | null }
  : { [field: string]: unknown };

/**
 * A path in an event of this type, such as `data.object.phone`. A field that neither the service documents nor the handler's
 * schema names is a compile error; where the service documents none, every field is allowed.
 */
export type KeyPath<Type extends string, Shape> = "org_id" | `data.object.${Documented<Type> | Field<Shape>}`;

type Documented<Type extends string> = Type extends EventType
  ? [Exclude<Field<EventObject<Type>>, "object">] extends [never]
    ? string
    : Field<EventObject<Type>>
  : string;

/** Names of fields, and paths of the fields within them. */
type Field<Value> = Value extends readonly unknown[]
  ? never
  : Value extends object
    ? { [Name in Named<Value>]: Name | `${Name}.${Field<NonNullable<Value[Name]>>}` }[Named<Value>]
    : never;

/** Without an index signature. */
type Named<Value> = keyof { [Name in keyof Value as string extends Name ? never : Name]: 1 } &
  keyof Value &
  string;

/** The schema of an envelope with this `data.object`. */
export function schemaWith(object: z.ZodType) {
  return envelopeSchema.extend({ data: z.looseObject({ object }) });
}

/** The schema for a handler without one: a documented field has its documented kind, or counts as missing. */
export function lenientSchemaFor(envelope: unknown): ReturnType<typeof schemaWith> {
  return lenientSchemas.get(typeSchema.safeParse(envelope).data?.type ?? "") ?? anything;
}

const typeSchema = z.looseObject({ type: z.string() });
const anything = schemaWith(z.looseObject({}));
const lenientSchemas = new Map(
  Object.entries(objectSchemas).map(([type, { shape }]) => {
    const fields = Object.entries(shape).map(([name, field]: [string, z.ZodType]) => {
      // A text in a new format is still that text.
      const kind = field instanceof z.ZodString ? z.string() : field;
      return [name, kind.nullish().catch(undefined)] as const;
    });
    return [type, schemaWith(z.looseObject(Object.fromEntries(fields)))];
  }),
);
