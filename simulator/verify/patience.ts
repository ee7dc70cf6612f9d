import type { Check, Verdict } from "./check.ts";
import { type Exchange, hasTimedOut } from "./delivery.ts";
import { unverified } from "./judgement.ts";
import type { Timing } from "./timing.ts";

/**
 * How long a run waits, so that it ends within a minute with any receiver: once a `must` check has failed because no
 * answer came in time, no wait is that long again; nothing starts late in the run, and no wait outlasts it.
 */
export function createPatience(options: {
  timing: Timing;
  begunAtMs: number;
  /** Whether answers get their full time again, since the remaining ones wait side by side. */
  isLastTry?: () => boolean;
}) {
  const { timing, begunAtMs, isLastTry = () => false } = options;
  const { responseTimeoutMs, hurriedTimeoutMs, lateMs, runMs } = timing;
  let timedOutIn: string | undefined;

  const ageMs = (): number => performance.now() - begunAtMs;
  const isHurried = (): boolean => timedOutIn !== undefined && !isLastTry();
  const leftMs = (): number => Math.max(0, runMs - ageMs());

  function isCutShort(exchange: Exchange): boolean {
    return hasTimedOut(exchange) && exchange.durationMs < responseTimeoutMs - 50;
  }

  return {
    /** How much of the run is left. */
    leftMs,
    answerTimeoutMs: (): number =>
      Math.max(
        250,
        Math.min(responseTimeoutMs, isHurried() ? hurriedTimeoutMs : responseTimeoutMs, leftMs()),
      ),
    /** Whether there is time to repeat what failed: a check that waited for long has tried several times itself. */
    hasTimeToRepeat: (tookMs: number): boolean =>
      !isHurried() && tookMs < responseTimeoutMs / 2 && ageMs() < lateMs / 2,
    outOfTime(): string | undefined {
      if (ageMs() < lateMs) return undefined;
      return `The time of the run (${Math.round(runMs / 1_000)} s) was over before this: run it with --only, or all with --thorough.`;
    },
    /** The final verdict of a check: one that failed only because of the shorter wait is unverified instead. */
    judge(check: Pick<Check, "id" | "level">, verdict: Verdict): Verdict {
      if (verdict.outcome !== "failed" || !verdict.exchanges.some(hasTimedOut)) return verdict;
      if (verdict.exchanges.some(isCutShort)) {
        const why =
          timedOutIn === undefined
            ? "the time of the run was over"
            : `${timedOutIn} has shown that the receiver answers too late`;
        return { ...unverified(`No answer came in the shortened time: ${why}.`), isLate: true };
      }
      if (check.level === "must") timedOutIn ??= check.id;
      return verdict;
    },
  };
}
