import { RESPONSE_TIMEOUT_MS } from "../../shared/limits.ts";

/** How long a run waits for what. Only tests use others than these. */
export type Timing = {
  /** How long an answer may take (SPEC §6 Delivery). */
  responseTimeoutMs: number;
  /** How long an event may be under way of which the answer was lost; until then copies of it may be refused. */
  underWayMs: number;
  /** The same once a check has failed because no answer came in time: that is known by then. */
  hurriedTimeoutMs: number;
  /** After this much of a run, nothing more is begun with a receiver whose answers take longer than `slowAnswerMs`. */
  slowRunMs: number;
  slowAnswerMs: number;
  /** How long a receiver may answer 503 after its start before that counts. */
  readyMs: number;
  /** How long a check holds a connection open without finishing its request. */
  stallMs: number;
  /** How long a receiver has to handle what it acknowledged, after the last delivery. */
  settleMs: number;
  /** The same after a crash, where a lease may have to run out first. */
  settleAfterCrashMs: number;
  /** The same while a failing schedule is shrunk, where each try that fails waits for so long. */
  settleShrinkingMs: number;
  /** How long nothing may change before effects are counted. */
  quietMs: number;
  /** The delay before the second attempt of a delivery that was refused; each later one is that much longer. */
  retryMs: number;
  /** How long a receiver is left alone between one kill and the next. */
  restMs: number;
  /** An event should be handled this long after it was acknowledged. */
  promptMs: number;
  /** An answer should come this soon, since the service does not wait for work. */
  promptAnswerMs: number;
  /** How often more a receiver is killed right after an answer, in search of a gap between answering and storing. */
  kills: number;
  /** Deliveries of the burst, all at once. */
  burst: number;
  /** Deliveries between an event and its late duplicate. */
  manyOthers: number;
};

/** What `--thorough` takes more of: more kills, and more ids than a cache of ten thousand. */
const THOROUGH_TIMING: Partial<Timing> = {
  slowRunMs: Number.POSITIVE_INFINITY,
  kills: 30,
  manyOthers: 10_500,
  burst: 120,
};

export const DEFAULT_TIMING: Timing = {
  responseTimeoutMs: RESPONSE_TIMEOUT_MS,
  underWayMs: RESPONSE_TIMEOUT_MS,
  hurriedTimeoutMs: 2_000,
  slowRunMs: 40_000,
  slowAnswerMs: 1_000,
  readyMs: 30_000,
  stallMs: 1_000,
  settleMs: 15_000,
  settleAfterCrashMs: 50_000,
  settleShrinkingMs: 2_000,
  quietMs: 400,
  retryMs: 200,
  restMs: 300,
  promptMs: 5_000,
  promptAnswerMs: 2_000,
  kills: 1,
  burst: 60,
  manyOthers: 1_050,
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
