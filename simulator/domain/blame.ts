import type { AttemptSummary } from "./attempts.ts";
import type { Fault } from "./faults.ts";
import { isSuccess } from "./judgement.ts";
import type { Blame } from "./outcome.ts";

/** An attempt with what we did wrong to it on purpose, and whose doing its failure is (null: it did not fail). */
export type JudgedAttempt = AttemptSummary & { injected: Fault[]; fault: string | null; blame: Blame | null };

/**
 * Whose doing it is that an attempt failed; null when it did not fail, or not yet. A failure after a fault that we put
 * into it is ours, and so is one that we interrupted: neither says anything about the receiver.
 */
export function blameOf(
  attempt: Pick<AttemptSummary, "httpStatus" | "error">,
  injected: readonly Fault[],
): Blame | null {
  const { httpStatus, error } = attempt;
  if (error === null && (httpStatus === null || isSuccess(httpStatus))) return null;
  return injected.length > 0 || error === "interrupted" ? "simulator" : "receiver";
}

/**
 * The figures of some attempts of one endpoint; those whose failure is the simulator's are left out. `p95Ms` is what
 * 95 of 100 answers took at most, whatever they said; null where there was none.
 */
export function answerFigures(attempts: readonly JudgedAttempt[]) {
  const counted = attempts.filter(({ endedAtMs, blame }) => endedAtMs !== null && blame !== "simulator");
  const acknowledged = counted.filter(({ httpStatus }) => httpStatus !== null && isSuccess(httpStatus));
  const tookMs = counted
    .flatMap(({ httpStatus, durationMs }) => (httpStatus === null || durationMs === null ? [] : [durationMs]))
    .toSorted((left, right) => left - right);
  return {
    counted: counted.length,
    acknowledged: acknowledged.length,
    p95Ms: tookMs[Math.ceil(tookMs.length * 0.95) - 1] ?? null,
  };
}
