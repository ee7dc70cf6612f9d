import { baselineSchema } from "./reports/json.ts";
import type { CheckResult } from "./report.ts";
import { jsonOf } from "../domain/exact-json.ts";

export type Baseline = { failed: Set<string>; unverified: Set<string> };

/** Reads an earlier JSON report; undefined when `text` is none. */
export function readBaseline(text: string): Baseline | undefined {
  const parsed = baselineSchema.safeParse(jsonOf(text));
  if (!parsed.success) return undefined;
  const idsOf = (outcome: string): Set<string> =>
    new Set(parsed.data.checks.filter((check) => check.outcome === outcome).map(({ id }) => id));
  return { failed: idsOf("failed"), unverified: idsOf("unverified") };
}

/** Marks failures that the baseline has too: they are shown, but fail no run. */
export function markKnown(results: readonly CheckResult[], baseline: Baseline): CheckResult[] {
  return results.map((result) => {
    const known =
      (result.outcome === "failed" && baseline.failed.has(result.check.id)) ||
      (result.outcome === "unverified" && baseline.unverified.has(result.check.id));
    // A receiver that could not be reached at all is never old news.
    return known && result.check.id !== "preflight.reachable" ? { ...result, known } : result;
  });
}
