import { RESPONSE_TIMEOUT_MS } from "../../shared/limits.ts";

/** How long a run waits for what. */
export const DEFAULT_TIMING = {
  /** How long an answer may take (SPEC §6 Delivery). */
  responseTimeoutMs: RESPONSE_TIMEOUT_MS,
  /** How long an event whose answer was lost may be under way; until then copies of it may be refused. */
  underWayMs: RESPONSE_TIMEOUT_MS,
  /** How long an answer may take once a `must` check has failed because none came in time. */
  hurriedTimeoutMs: 2_000,
  /** After this much of a run, nothing more is begun with a receiver whose usual answer takes longer than `slowAnswerMs`. */
  slowRunMs: 40_000,
  slowAnswerMs: 200,
  /** How long a receiver may answer 503 after its start before that counts. */
  readyMs: 30_000,
  /** How long a check holds a connection open without finishing its request. */
  stallMs: 1_000,
  /** How long a receiver has to handle what it acknowledged, counted from the last delivery or the last event handled. */
  settleMs: 15_000,
  /** The same after a crash, where a lease may have to run out first. */
  settleAfterCrashMs: 40_000,
  /** The same while a failing schedule is shrunk: each try that fails waits for this long. */
  settleShrinkingMs: 2_000,
  /** How long nothing is sent before effects are counted. */
  quietMs: 400,
  /** The delay before the second attempt of a delivery that was refused; each later one is that much longer. */
  retryMs: 200,
  /** How long a receiver is left alone between one kill and the next. */
  restMs: 300,
  /** Within this time after it was acknowledged, an event should be handled. */
  promptMs: 5_000,
  /** Within this time an answer should come. */
  promptAnswerMs: 2_000,
  /** Kills, beside those of other checks, that search for a gap between answering and storing. */
  kills: 1,
  /** Deliveries of the burst, all at once. */
  burst: 60,
  /** Deliveries between an event and its late duplicate. */
  manyOthers: 1_050,
  /** How long they may take. */
  manyOthersMs: 10_000,
};

/** Tests and the options of the command change parts of it. */
export type Timing = typeof DEFAULT_TIMING;

/** What `--thorough` takes more of: more kills, and more ids than a cache of ten thousand. */
const THOROUGH_TIMING: Partial<Timing> = {
  slowRunMs: Number.POSITIVE_INFINITY,
  kills: 30,
  manyOthers: 10_500,
  manyOthersMs: Number.POSITIVE_INFINITY,
  burst: 120,
};

/** What a user says about time, in place of what is assumed. */
export function timingFor(said: {
  readyTimeoutMs: number;
  effectsWithinMs?: number | undefined;
  thorough?: boolean;
}): Partial<Timing> {
  const { readyTimeoutMs: readyMs, effectsWithinMs, thorough } = said;
  const more = thorough === true ? THOROUGH_TIMING : {};
  if (effectsWithinMs === undefined) return { readyMs, ...more };
  const atLeast = (assumedMs: number): number => Math.max(assumedMs, effectsWithinMs);
  const { settleMs, settleAfterCrashMs, settleShrinkingMs } = DEFAULT_TIMING;
  return {
    ...more,
    readyMs,
    promptMs: effectsWithinMs,
    settleMs: atLeast(settleMs),
    settleAfterCrashMs: atLeast(settleAfterCrashMs),
    settleShrinkingMs: atLeast(settleShrinkingMs),
  };
}
