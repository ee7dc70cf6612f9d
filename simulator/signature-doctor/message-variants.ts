import type { Deviation } from "./deviation.ts";

/** What is put before and after the body to make the message that is hashed. */
export type MessageVariant = {
  deviation: Deviation | undefined;
  before: string;
  after: string;
  /** The body is no part of it at all. */
  withoutBody?: boolean;
};

const RULE = "The message is the value of t, a period, then the raw body.";

/** The message as SPEC §6 has it, and the known wrong ones. `t` is the text of the header's t. */
export function messageVariants(options: { t: string; header: string; eventId: string }): MessageVariant[] {
  const { t, header, eventId } = options;
  const variants: MessageVariant[] = [{ deviation: undefined, before: `${t}.`, after: "" }];
  const add = (id: string, title: string, before: string, after = "", fix = RULE) => {
    variants.push({ deviation: { id: `message-${id}`, title, fix }, before, after });
  };

  add("body-only", "The body alone was hashed, without t and the period before it.", "");
  add("no-period", "t and the body were put together without the period between them.", t);
  for (const [name, separator] of SEPARATORS)
    add(`separator-${name}`, `There was a ${name} between t and the body, not a period.`, `${t}${separator}`);
  add("reversed", "The body was put before t.", "", `.${t}`);
  add("reversed-no-period", "The body was put before t, without a period.", "", t);
  add("key-included", "The text t= was hashed too, not only its value.", `t=${t}.`);
  add(
    "header-included",
    "The whole header was hashed before the body, not only the value of t.",
    `${header}.`,
  );
  add("event-id", "The event id was hashed too, as other webhook standards have it.", `${eventId}.${t}.`);
  add("version", "A version was hashed too, as other services have it.", `v1:${t}:`);
  add("version-0", "A version was hashed too, as other services have it.", `v0:${t}:`);
  const seconds = "Hash the text of t as it stands in the header: seconds, nothing converted.";
  add("milliseconds", "t was turned into milliseconds.", `${t}000.`, "", seconds);
  add("seconds", "t was divided by 1000.", `${t.slice(0, -3)}.`, "", seconds);
  if (/^0\d/.test(t))
    add("number", "t was turned into a number, which drops its zeros.", `${Number(t)}.`, "", seconds);
  add("float", "t was hashed as a decimal number.", `${t}.0.`, "", seconds);
  add("iso", "t was turned into a date.", `${isoOf(t)}.`, "", seconds);
  variants.push({
    deviation: {
      id: "message-timestamp-only",
      title: "t alone was hashed, without the body.",
      fix: RULE,
    },
    before: t,
    after: "",
    withoutBody: true,
  });
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
