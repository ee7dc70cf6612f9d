import { filesOf } from "./files.ts";

/** Statuses, and the mode of files, measure nothing; no more do names. */
const NO_FIGURES = /`[^`]*`|\b503\b|\b0600\b/g;
const FIGURE = /(?<![\w.])(\d[\d,]*(?:\.\d+)?)(?: (KiB|MiB|GiB|s|ms)\b)?/g;

const UNITS: Record<string, number> = { KiB: 1_024, MiB: 1_024 ** 2, GiB: 1_024 ** 3, s: 1_000, ms: 1 };

/** The figures of a text, in the units of constants: bytes, milliseconds, or whatever is counted. */
export function figuresOf(text: string): number[] {
  return [...text.replaceAll(NO_FIGURES, "").matchAll(FIGURE)].map(
    ([, digits = "", unit = ""]) => Number(digits.replaceAll(",", "")) * (UNITS[unit] ?? 1),
  );
}

const code = filesOf(/^(?:receiver|simulator|shared|test)\/.*\.ts$/);

/** The constant "path NAME" as the code writes it, or a setting's default; times in milliseconds. */
export function valueOf(source: string): number {
  const [path = "", name = ""] = source.split(" ");
  const written = new RegExp(`\\b${name}(?: = |: integer\\(\\{ default: )([0-9_ *]+)[;,]`).exec(
    code.get(path) ?? "",
  );
  const product = (written?.[1] ?? "NaN")
    .split("*")
    .reduce((value, factor) => value * Number(factor.replaceAll("_", "")), 1);
  return name.endsWith("_SECONDS") ? product * 1_000 : product;
}
