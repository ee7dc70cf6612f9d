import type { PlantedBug } from "./planted-bug.ts";
import type { Finding } from "./record.ts";

/** How many of a list's bugs there are, have a verdict, and were caught. */
export type Share = { list: string; bugs: number; tried: number; caught: number };

/** One share a list, as far as its bugs were tried. */
export function sharesOf(
  lists: Record<string, readonly PlantedBug[]>,
  find: (bug: PlantedBug) => Finding | undefined,
): Share[] {
  return Object.entries(lists).map(([list, bugs]) => {
    const verdicts = bugs.flatMap((bug) => find(bug)?.verdict ?? []);
    const caught = verdicts.filter((verdict) => verdict === "caught").length;
    return { list, bugs: bugs.length, tried: verdicts.length, caught };
  });
}
