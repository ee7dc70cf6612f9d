import { BODY, type Part, T } from "../signature-recipe/recipe.ts";
import type { Departure } from "./deviation.ts";

const RULE = "The message is the value of t, a period, then the raw body.";

/** The known wrong messages to hash. `t` is the text of the header's t. */
export function messageVariants(options: { t: string; header: string; eventId: string }): Departure[] {
  const { t, header, eventId } = options;
  const variants: Departure[] = [];
  const add = (id: string, title: string, message: Part[], fix = RULE) => {
    variants.push({ deviation: { id: `message-${id}`, title, fix }, change: { message } });
  };

  add("body-only", "The body alone was hashed, without t and the period before it.", [BODY]);
  add("no-period", "t and the body were put together without the period between them.", [T, BODY]);
  for (const [name, separator] of SEPARATORS)
    add(`separator-${name}`, `There was a ${name} between t and the body, not a period.`, [
      T,
      separator,
      BODY,
    ]);
  add("reversed", "The body was put before t.", [BODY, ".", T]);
  add("reversed-no-period", "The body was put before t, without a period.", [BODY, T]);
  add("key-included", "The text t= was hashed too, not only its value.", ["t=", T, ".", BODY]);
  add("header-included", "The whole header was hashed before the body, not only the value of t.", [
    header,
    ".",
    BODY,
  ]);
  add("event-id", "The event id was hashed too, as other webhook standards have it.", [
    eventId,
    ".",
    T,
    ".",
    BODY,
  ]);
  add("version", "A version was hashed too, as other services have it.", ["v1:", T, ":", BODY]);
  add("version-0", "A version was hashed too, as other services have it.", ["v0:", T, ":", BODY]);
  const seconds = "Hash the text of t as it stands in the header: seconds, nothing converted.";
  add("milliseconds", "t was turned into milliseconds.", [T, "000.", BODY], seconds);
  add("seconds", "t was divided by 1000.", [t.slice(0, -3), ".", BODY], seconds);
  if (/^0\d/.test(t))
    add(
      "number",
      "t was turned into a number, which drops its zeros.",
      [String(Number(t)), ".", BODY],
      seconds,
    );
  add("float", "t was hashed as a decimal number.", [T, ".0.", BODY], seconds);
  add("iso", "t was turned into a date.", [isoOf(t), ".", BODY], seconds);
  add("timestamp-only", "t alone was hashed, without the body.", [T]);
  return variants;
}

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

function isoOf(t: string): string {
  const date = new Date(Number(t) * 1000);
  return Number.isNaN(date.getTime()) ? t : date.toISOString();
}
