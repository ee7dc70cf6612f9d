import { z } from "zod";
import { camelCase, type CamelCase } from "./names.ts";

/**
 * One shape, three spellings, all made from its schema:
 *
 *     answered by the API    { created_at: "2026-01-31T18:00:00.000Z" }    z.input of the schema
 *     kept by the domain     { createdAtMs: 1769882400000 }                Kept
 *     dated by the library   { createdAt: Date }                           Dated
 *
 * A new field of a schema appears in all three, and the compiler names the places that do not fill it.
 */

/** A time: ISO 8601 in answers, milliseconds since 1970 in memory. */
export const moment = z.codec(z.string(), z.number(), {
  decode: (text) => Date.parse(text),
  encode: (timeMs) => new Date(timeMs).toISOString(),
});

type Moment = typeof moment;

type Spelled<Schema, Suffix extends string, Time> = Schema extends Moment
  ? Time
  : Schema extends z.ZodNullable<infer Inner>
    ? Spelled<Inner, Suffix, Time> | null
    : Schema extends z.ZodArray<infer Item>
      ? Spelled<Item, Suffix, Time>[]
      : Schema extends z.ZodObject<infer Fields>
        ? {
            // A literal names the object; it exists only in answers.
            [
              Name in keyof Fields & string as Fields[Name] extends z.ZodLiteral
                ? never
                : Fields[Name] extends Moment | z.ZodNullable<Moment>
                  ? `${CamelCase<Name>}${Suffix}`
                  : CamelCase<Name>
            ]: Spelled<Fields[Name], Suffix, Time>;
          }
        : z.output<Schema>;

/** The fields of a schema as the domain keeps them: `created_at` as milliseconds in `createdAtMs`. */
export type Kept<Schema extends z.ZodType> = Spelled<Schema, "Ms", number>;

/** The fields of a schema as the library returns them: `created_at` as a `Date` in `createdAt`. */
export type Dated<Schema extends z.ZodType> = Spelled<Schema, "", Date>;

/** The columns of a SELECT as the domain keeps them: `d.created_at AS createdAtMs`. The table has no `derived` ones. */
export function columnsOf(schema: z.ZodObject, derived: readonly string[], table = ""): string {
  return Object.entries(schema.shape)
    .filter(([name, field]) => !(field instanceof z.ZodLiteral) && !derived.includes(name))
    .map(([name, field]) => `${table}${name} AS ${keptName(name, field)}`)
    .join(", ");
}

function keptName(name: string, field: unknown): string {
  return isMoment(field) ? `${camelCase(name)}Ms` : camelCase(name);
}

type Convert = (value: unknown) => unknown;
type Spelling = { name: (field: string) => string; time: Convert; withLiterals: boolean };

const ANSWERED: Spelling = {
  name: (field) => field,
  time: (timeMs) => new Date(Number(timeMs)).toISOString(),
  withLiterals: true,
};
const DATED: Spelling = { name: camelCase, time: (timeMs) => new Date(Number(timeMs)), withLiterals: false };

/** Converts an object of the domain into an answer of the control API, without fields that the schema lacks. */
export function viewOf<Schema extends z.ZodType>(schema: Schema): (kept: Kept<Schema>) => z.input<Schema> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made from the schema that the type is made from
  return (converterOf(schema, ANSWERED) ?? asItIs) as (kept: Kept<Schema>) => z.input<Schema>;
}

export function dated<Schema extends z.ZodType>(schema: Schema): (kept: Kept<Schema>) => Dated<Schema> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made from the schema that the type is made from
  return (converterOf(schema, DATED) ?? asItIs) as (kept: Kept<Schema>) => Dated<Schema>;
}

/** Made once for a schema, since zod's own codecs take several times as long; undefined where nothing changes. */
function converterOf(schema: unknown, spelling: Spelling): Convert | undefined {
  if (schema === moment) return spelling.time;
  if (schema instanceof z.ZodNullable) {
    const convert = converterOf(schema.unwrap(), spelling);
    return convert && ((value) => (value === null ? null : convert(value)));
  }
  if (schema instanceof z.ZodArray) {
    const convert = converterOf(schema.element, spelling);
    return convert && ((value) => (Array.isArray(value) ? value.map(convert) : value));
  }
  return schema instanceof z.ZodObject && schema.def.catchall === undefined
    ? objectConverter(schema.shape, spelling)
    : undefined;
}

function objectConverter(shape: Record<string, unknown>, spelling: Spelling): Convert {
  const literals: [name: string, value: unknown][] = [];
  const fields: { from: string; to: string; convert: Convert | undefined }[] = [];
  for (const [name, field] of Object.entries(shape)) {
    if (field instanceof z.ZodLiteral) literals.push([name, field.value]);
    else
      fields.push({
        from: keptName(name, field),
        to: spelling.name(name),
        convert: converterOf(field, spelling),
      });
  }
  const begun: Record<string, unknown> = spelling.withLiterals ? Object.fromEntries(literals) : {};
  return (value) => {
    if (!isRecord(value)) return value;
    const result = { ...begun };
    for (const { from, to, convert } of fields)
      result[to] = convert === undefined ? value[from] : convert(value[from]);
    return result;
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isMoment(field: unknown): boolean {
  return field === moment || (field instanceof z.ZodNullable && field.unwrap() === moment);
}

function asItIs(value: unknown): unknown {
  return value;
}
