import { type CauseName, VERIFY_CAUSES } from "./causes.ts";
import { NEEDS } from "./context.ts";
import { type CheckResult, type Standing, standingOf } from "./report.ts";

/** These concern only the receiver: the sent data does not change the fix. */
const OF_ITSELF = new Set<CauseName>([
  ...(["timed_out", "connection_refused", "connection_reset", "connection_closed", "redirected"] as const),
  ...(["not_http", "server_error", "gateway_error", "unavailable", "rate_limited", "sometimes"] as const),
  ...(["ended", "not_restarted", "duplicate_refused", "forgery_not_refused"] as const),
]);

/** Failures that have one cause, and one fix for all of them. */
export type CauseGroup = {
  cause: CauseName;
  words: string;
  fix: string;
  standing: Standing;
  results: CheckResult[];
};

/** The failures of a run by what happened, the gravest first and then the largest. */
export function groupByCause(results: readonly CheckResult[]): CauseGroup[] {
  const failed = results.flatMap((result) =>
    result.cause === undefined ? [] : [{ ...result, cause: result.cause }],
  );
  const groups = Map.groupBy(failed, (result) => `${standingOf(result)} ${result.cause}`);
  const made = [...groups.values()].flatMap((members) => {
    const [first] = members;
    if (first === undefined) return [];
    const { words } = VERIFY_CAUSES[first.cause];
    return [
      { cause: first.cause, words, fix: fixOf(members), standing: standingOf(first), results: members },
    ];
  });
  const rank = ({ standing }: CauseGroup): number => ["failed", "advice"].indexOf(standing);
  return made.toSorted((a, b) => rank(a) - rank(b) || b.results.length - a.results.length);
}

/** The fix for failures of one cause: that of their checks if it is the same for all, else that of the cause. */
export function fixOf(results: readonly (Pick<CheckResult, "check"> & { cause: CauseName })[]): string {
  const [cause = "refused"] = results.map((result) => result.cause);
  const [hint, ...others] = new Set(results.map(({ check }) => check.hint));
  return hint === undefined || others.length > 0 || OF_ITSELF.has(cause) ? VERIFY_CAUSES[cause].fix : hint;
}

const OBSERVE = "--observe 'http://…/{id}' (one line in your receiver: docs/observe.md)";
const COMMAND = "its command behind --";

/**
 * One sentence on what this run left open, since answers alone do not show effects and crashes, and which options would prove
 * it; undefined if nothing is open.
 */
export function unprovenSentence(results: readonly CheckResult[]): string | undefined {
  const open = (need: keyof typeof NEEDS) =>
    results.filter(({ outcome, explanation }) => outcome === "unverified" && explanation === NEEDS[need]);
  const [unobserved, unowned] = [open("observe"), open("command")];
  const count = unobserved.length + unowned.length;
  const deferred = results.filter(({ isDeferred }) => isDeferred === true).length;
  if (count === 0 && deferred > 0)
    return `Unproven: ${deferred} ${deferred === 1 ? "check" : "checks"} with deferred events. That fails no run.`;
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
