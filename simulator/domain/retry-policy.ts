/** Entry n is the delay before attempt n + 1 (SPEC §6 Retry policy): exact, without jitter, 14 h 36 min in all. */
export const RETRY_DELAYS_SECONDS = [0, 60, 300, 1_800, 7_200, 43_200] as const;

/** From the first attempt to the last: 14 h 36 min. */
export const SCHEDULE_SECONDS = RETRY_DELAYS_SECONDS.reduce<number>((sum, seconds) => sum + seconds, 0);

/** Attempts made for one delivery before it is dead. */
export const MAXIMUM_ATTEMPTS = RETRY_DELAYS_SECONDS.length;

/** Seconds to wait after failed attempt `attempt` (from 1); undefined after the last. */
export function delayAfterAttempt(attempt: number): number | undefined {
  return RETRY_DELAYS_SECONDS[attempt];
}
