import { stripVTControlCharacters } from "node:util";

/**
 * What Vitest's exit code and the end of what it printed say. Where a name behind `-t` is no test's, it skips all of
 * them and exits with 0: that none passed tells nothing about the code.
 */
export function testsOutcome(code: number | null, printed: string): "passed" | "failed" | "nothing ran" {
  // Ended from outside, because something waited for ever.
  if (code === null) return "failed";
  const counts = /^\s*Tests\s+(\d.*)$/m.exec(stripVTControlCharacters(printed))?.[1];
  if (counts === undefined) return "nothing ran";
  if (code !== 0) return "failed";
  return counts.includes("passed") ? "passed" : "nothing ran";
}
