import { RESPONSE_TIMEOUT_MS } from "../domain/limits.ts";

export const DEFAULT_TIMING = {
  /** A run ends within this time with any receiver. */
  runMs: 56_000,
  /** After this much of it, no further check is begun. */
  lateMs: 42_000,
  /** How long an answer may take (SPEC §6 Delivery). */
  responseTimeoutMs: RESPONSE_TIMEOUT_MS,
  /** How long an event whose answer was lost may be under way; until then copies of it may be refused. */
  underWayMs: RESPONSE_TIMEOUT_MS,
  /** How long an answer may take once a `must` check has failed because none came in time. */
  hurriedTimeoutMs: 2_000,
  /** How long a receiver may answer 502, 503 or 504 after its start before that counts. */
  readyMs: 30_000,
  /** How long a check holds a connection open without finishing its request. */
  stallMs: 600,
  /** How long a receiver has to handle acknowledged events, counted from the last delivery or the last handled event. */
  settleMs: 15_000,
  /** How long nothing is sent before effects are counted. */
  quietMs: 300,
  /** The delay before the second attempt of a delivery that was refused; each later one is that much longer. */
  retryMs: 200,
  /** Within this time after it was acknowledged, an event should be handled. */
  promptMs: 5_000,
  promptAnswerMs: 2_000,
  /** Kills at random moments while events stream in and are handled: two at least, and no new one after `killsMs`. */
  kills: 8,
  killsMs: 1_200,
  burst: 60,
  /** Deliveries between an event and its late duplicate, and how long those may take that only this check needs. */
  manyOthers: 1_050,
  manyOthersMs: 2_000,
};

/** Tests and the options of the command change parts of it. */
export type Timing = typeof DEFAULT_TIMING;

/** What `--thorough` takes more of: more kills, and more ids than a cache of ten thousand. */
const THOROUGH_TIMING: Partial<Timing> = {
  runMs: Number.POSITIVE_INFINITY,
  lateMs: Number.POSITIVE_INFINITY,
  kills: 30,
  killsMs: Number.POSITIVE_INFINITY,
  manyOthers: 10_500,
  manyOthersMs: Number.POSITIVE_INFINITY,
  burst: 120,
};

/** Times that the user set in place of the defaults: a run takes longer by the extra time that the receiver gets. */
export function timingFor(said: {
  readyTimeoutMs: number;
  effectsWithinMs?: number | undefined;
  thorough?: boolean;
}): Partial<Timing> {
  const { readyTimeoutMs: readyMs, effectsWithinMs = 0, thorough } = said;
  const { runMs, lateMs, settleMs, promptMs } = DEFAULT_TIMING;
  const moreMs = Math.max(0, readyMs - DEFAULT_TIMING.readyMs) + 2 * effectsWithinMs;
  return {
    readyMs,
    runMs: runMs + moreMs,
    lateMs: lateMs + moreMs,
    promptMs: effectsWithinMs === 0 ? promptMs : effectsWithinMs,
    settleMs: Math.max(settleMs, effectsWithinMs),
    ...(thorough === true ? THOROUGH_TIMING : {}),
  };
}
