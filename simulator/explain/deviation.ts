import type { Digest } from "../signature-recipe/recipe.ts";

/** One deviation from the rule of SPEC §6 Signature. */
export type Deviation = { id: string; title: string; fix: string };

/** A way of signing that differs from the service's in one step, and how it is explained to the user. */
export type Departure = { deviation: Deviation; change: Omit<Digest, "kind"> };

/** A mistake, and its result for some bytes; undefined if it does not apply to them. */
export type Mistake = [id: string, title: string, made: Buffer | string | undefined, fix?: string];

/** The results of mistakes on `original`; each differs from it and from all before it. Those without a fix get `usualFix`. */
export function departuresOf(
  original: Buffer,
  mistakes: readonly Mistake[],
  {
    prefix,
    usualFix,
    change,
  }: { prefix: string; usualFix: string; change: (made: Buffer) => Departure["change"] },
): Departure[] {
  const known = [original];
  return mistakes.flatMap(([id, title, made, fix = usualFix]) => {
    if (made === undefined) return [];
    const bytes = typeof made === "string" ? Buffer.from(made) : made;
    if (known.some((other) => other.equals(bytes))) return [];
    known.push(bytes);
    return [{ deviation: { id: `${prefix}-${id}`, title, fix }, change: change(bytes) }];
  });
}
