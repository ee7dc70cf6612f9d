/** The first wait after a failed handling, the factor from each to the next, and the longest. */
const FIRST_MS = 5_000;
const FACTOR = 3;
const LONGEST_MS = 6 * 3_600_000;

/** The part of a wait that chance may take away, so that what failed together does not return together. */
const JITTER = 0.2;

/**
 * Milliseconds to wait after the handler failed on attempt `attempt` (from 1): 5 s, 15 s, 45 s, 135 s … up to 6 h,
 * each shortened by up to a fifth by chance. The ten attempts of the default span about ten hours.
 */
export function backoffMs(attempt: number, random: () => number): number {
  const fullMs = Math.min(FIRST_MS * FACTOR ** (attempt - 1), LONGEST_MS);
  return Math.round(fullMs * (1 - JITTER * random()));
}
