import { printable } from "../../../shared/printable.ts";

/** Markup that is safe to send: what stood in it as a value has been escaped. */
export type Html = { readonly markup: string };

type Value = Html | string | number | null | undefined | false | readonly Html[];

/** Builds markup; every value in it is text, unless it is markup made by `html` itself. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return {
    markup: parts
      .map((part, index) => part + (index < values.length ? markupOf(values[index]) : ""))
      .join(""),
  };
}

function markupOf(value: Value): string {
  if (value === null || value === undefined || value === false) return "";
  if (typeof value === "string" || typeof value === "number") return escaped(String(value));
  return "markup" in value ? value.markup : value.map(({ markup }) => markup).join("");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** What steers the direction of text, or cannot be seen, is shown as an escape. */
function escaped(text: string): string {
  return printable(text).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}
