import type { Check, Verdict } from "./check.ts";
import { type Exchange, hasTimedOut } from "./delivery.ts";
import type { Timing } from "./timing.ts";

/**
 * How long a run waits, so that it ends within a minute whatever the receiver does: once a `must` check has failed because
 * no answer came in time, nobody waits that long again; and with a receiver whose usual answer takes long, nothing is
 * begun late in the run. The verdict on the receiver stays what it would be.
 */
export function createPatience({ timing, begunAtMs }: { timing: Timing; begunAtMs: number }) {
  const { responseTimeoutMs, hurriedTimeoutMs, slowAnswerMs, slowRunMs } = timing;
  let timedOutIn: string | undefined;
  const answersMs: number[] = [];

  function isCutShort(exchange: Exchange): boolean {
    return hasTimedOut(exchange) && exchange.durationMs < responseTimeoutMs;
  }

  return {
    /** Learns how long an answer took that acknowledged an event for the first time. */
    learn: (durationMs: number): void => void answersMs.push(durationMs),
    /** How long an answer may take from now on. */
    answerTimeoutMs: (): number =>
      timedOutIn === undefined ? responseTimeoutMs : Math.min(responseTimeoutMs, hurriedTimeoutMs),
    /** Why no check is begun any more. */
    outOfTime(): string | undefined {
      if (performance.now() - begunAtMs < slowRunMs) return undefined;
      const usualMs =
        answersMs.toSorted((left, right) => left - right)[Math.floor(answersMs.length / 2)] ?? 0;
      if (usualMs < slowAnswerMs) return undefined;
      return `The receiver takes ${(usualMs / 1_000).toFixed(2)} s for an answer, and the time of a run was over: run it by --only, or all with --thorough.`;
    },
    /** The final verdict of a check: one that failed only because of the shorter wait is unverified instead. */
    judge(check: Pick<Check, "id" | "level">, verdict: Verdict): Verdict {
      if (verdict.outcome !== "failed" || !verdict.exchanges.some(hasTimedOut)) return verdict;
      if (timedOutIn !== undefined && verdict.exchanges.some(isCutShort)) {
        const reason = `No answer came within ${hurriedTimeoutMs / 1_000} s, and nobody waited longer: ${timedOutIn} has shown that the receiver answers too late.`;
        return { outcome: "unverified", reason };
      }
      if (check.level === "must") timedOutIn ??= check.id;
      return verdict;
    },
  };
}
