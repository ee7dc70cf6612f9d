import { BODY, type Part, T } from "../signature-recipe/recipe.ts";
import type { Departure } from "./deviation.ts";

const RULE = "The message is the value of t, a period, then the raw body.";
const SECONDS = "Hash the text of t from the header: seconds, not converted.";
const OTHERS = "as other webhook standards have it";

const SEPARATORS = [
  ["colon", ":"],
  ["comma", ","],
  ["hyphen", "-"],
  ["space", " "],
  ["line break", "\n"],
  ["vertical bar", "|"],
  ["underscore", "_"],
  ["semicolon", ";"],
] as const;

type Variant = [id: string, title: string, message: Part[], fix?: string];

/** The known wrong messages to hash. `t` is the text of the header's t. */
export function messageVariants(options: { t: string; header: string; eventId: string }): Departure[] {
  const { t, header, eventId } = options;
  const variants: Variant[] = [
    ["body-only", "The body alone was hashed, without t and the period before it.", [BODY]],
    ["no-period", "t and the body were put together without the period between them.", [T, BODY]],
    ...SEPARATORS.map(([name, separator]): Variant => {
      const title = `There was a ${name} between t and the body, not a period.`;
      return [`separator-${name}`, title, [T, separator, BODY]];
    }),
    ["reversed", "The body was put before t.", [BODY, ".", T]],
    ["reversed-no-period", "The body was put before t, without a period.", [BODY, T]],
    ["key-included", "The text t= was hashed too, not only its value.", ["t=", T, ".", BODY]],
    ["header-included", "The whole header was hashed, not only the value of t.", [header, ".", BODY]],
    ["event-id", `The event id was hashed too, ${OTHERS}.`, [eventId, ".", T, ".", BODY]],
    ["version", `A version was hashed too, ${OTHERS}.`, ["v1:", T, ":", BODY]],
    ["version-0", `A version was hashed too, ${OTHERS}.`, ["v0:", T, ":", BODY]],
    ["milliseconds", "t was turned into milliseconds.", [T, "000.", BODY], SECONDS],
    ["seconds", "t was divided by 1000.", [t.slice(0, -3), ".", BODY], SECONDS],
    ["number", "t was turned into a number, which drops its zeros.", [String(Number(t)), ".", BODY], SECONDS],
    ["float", "t was hashed as a decimal number.", [T, ".0.", BODY], SECONDS],
    ["iso", "t was turned into a date.", [isoOf(t), ".", BODY], SECONDS],
    ["timestamp-only", "t alone was hashed, without the body.", [T]],
  ];
  return variants
    .filter(([id]) => id !== "number" || /^0\d/.test(t))
    .map(([id, title, message, fix = RULE]) => ({
      deviation: { id: `message-${id}`, title, fix },
      change: { message },
    }));
}

function isoOf(t: string): string {
  const date = new Date(Number(t) * 1000);
  return Number.isNaN(date.getTime()) ? t : date.toISOString();
}
