import { isSuccess } from "./blame.ts";
import type { JudgedAttempt } from "./delivery-summaries.ts";

/** How an endpoint has answered lately, as far as that is its own doing. */
export type AnswerFigures = {
  /** Attempts that ended, without those that failed because of us. */
  counted: number;
  acknowledged: number;
  /** What 95 of 100 answers took at most, whatever they said; null where there was none. */
  p95Ms: number | null;
};

/** The figures of some attempts of one endpoint; what the simulator made fail on purpose says nothing about it. */
export function answerFigures(attempts: readonly JudgedAttempt[]): AnswerFigures {
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
