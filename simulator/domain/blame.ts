import type { AttemptSummary } from "./attempts.ts";
import type { Fault } from "./faults.ts";
import { isSuccess } from "./judgement.ts";
import type { Blame } from "./outcome.ts";

/** An attempt with what we did wrong to it on purpose, and whose doing its failure is (null: it did not fail). */
export type JudgedAttempt = AttemptSummary & { injected: Fault[]; fault: string | null; blame: Blame | null };

/** Who caused a failed attempt; null if it did not fail. Failures after our own faults and interruptions are ours. */
export function blameOf(
  attempt: Pick<AttemptSummary, "httpStatus" | "error">,
  injected: readonly Fault[],
): Blame | null {
  const { httpStatus, error } = attempt;
  if (error === null && (httpStatus === null || isSuccess(httpStatus))) return null;
  return injected.length > 0 || error === "interrupted" ? "simulator" : "receiver";
}

/** Counts some attempts of one endpoint without our own failures; `p95Ms` is null where no answer came. */
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
