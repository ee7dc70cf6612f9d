import { NEEDS } from "./context.ts";
import type { CheckResult } from "./report.ts";

const OBSERVE = "--observe 'http://…/{id}' (one line in your receiver: docs/observe.md)";
const COMMAND = "its command behind --";

/**
 * One sentence on what this run left open, since answers alone do not show effects and crashes, and which options would
 * prove it; undefined where nothing is left open.
 */
export function unprovenSentence(results: readonly CheckResult[]): string | undefined {
  const open = (need: keyof typeof NEEDS) =>
    results.filter(({ outcome, explanation }) => outcome === "unverified" && explanation === NEEDS[need]);
  const [unobserved, unowned] = [open("observe"), open("command")];
  const count = unobserved.length + unowned.length;
  if (count === 0) return undefined;
  const hasEffects = unobserved.some(({ check }) => check.group !== "crash");
  const hasCrashes = unowned.length > 0 || unobserved.some(({ check }) => check.group === "crash");
  const promises = [
    ...(hasEffects ? ["each event is handled exactly once"] : []),
    ...(hasCrashes ? ["a crash loses and repeats nothing"] : []),
  ];
  const proofs = [...(unobserved.length > 0 ? [OBSERVE] : []), ...(unowned.length > 0 ? [COMMAND] : [])];
  const what = `whether ${promises.join(", and whether ")} (${count} ${count === 1 ? "check" : "checks"})`;
  return `Unproven: ${what}. To prove it, give ${proofs.join(" and ")}.`;
}
