import type { EventObject, EventType } from "../../shared/events.ts";

/**
 * A path in the envelope of an event of type `Type`, such as `data.object.phone`. A field that neither the service
 * documents nor the handler's schema names is a compile error; where the service documents no fields, any is allowed.
 */
export type KeyPath<Type extends string, Shape> =
  | "id"
  | "type"
  | "org_id"
  | `data.object.${Documented<Type> | Field<Shape>}`;

type Documented<Type extends string> = Type extends EventType
  ? [Exclude<Field<EventObject<Type>>, "object">] extends [never]
    ? string
    : Field<EventObject<Type>>
  : string;

/** The names of an object's fields, and the paths of those within them. */
type Field<Value> = Value extends readonly unknown[]
  ? never
  : Value extends object
    ? { [Name in keyof Named<Value> & string]: Name | `${Name}.${Field<NonNullable<Value[Name]>>}` }[keyof Named<Value> &
        string]
    : never;

/** Without an index signature. */
type Named<Value> = { [Name in keyof Value as string extends Name ? never : Name]: Value[Name] };
