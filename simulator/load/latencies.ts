import { createHistogram } from "node:perf_hooks";

/** Latencies in buckets of three digits, which take some 200 KB for any number of them. */
export type Latencies = ReturnType<typeof createLatencies>;

/** Units of the histogram, which counts whole numbers, in a millisecond. */
const UNITS_A_MS = 1_000;
const HIGHEST = 600_000 * UNITS_A_MS;

export function createLatencies() {
  const histogram = createHistogram({ lowest: 1, highest: HIGHEST, figures: 3 });
  let largestMs = 0;

  return {
    add(ms: number): void {
      histogram.record(Math.min(HIGHEST, Math.max(1, Math.ceil(ms * UNITS_A_MS))));
      largestMs = Math.max(largestMs, ms);
    },
    count: () => histogram.count,
    largestMs: () => largestMs,
    /** The latency that `share` (0 to 1) of all stay within, to three digits; 0 when there are none. */
    quantileMs: (share: number): number =>
      histogram.count === 0 ? 0 : Math.min(largestMs, histogram.percentile(share * 100) / UNITS_A_MS),
  };
}
