/** The minimum and maximum of options, on the command line and in the library. */
export type Bounds = readonly [least: number, most: number];

export const OPTION_BOUNDS = {
  port: [0, 65_535],
  seed: [0, 2 ** 31 - 1],
  calls: [0, 10_000_000],
  concurrency: [1, 1_000],
  /** Events in one request: what a developer's machine handles without a pause. */
  count: [1, 10_000],
  advanceSeconds: [0, 366 * 86_400],
  overlapSeconds: [0, 30 * 86_400],
  /** Happenings a minute; for a load test there is the command `load`. */
  traffic: [0, 60_000],
} as const satisfies Record<string, Bounds>;

/** Why `value` is not a whole number within bounds, as an instruction; undefined if it is one. */
export function boundsProblem(value: number, [least, most]: Bounds): string | undefined {
  if (Number.isInteger(value) && value >= least && value <= most) return undefined;
  return `Give a whole number from ${least} to ${most}.`;
}
