/** Latencies in buckets that are half a percent wide: any number of them in a few kilobytes. */
export type Latencies = ReturnType<typeof createLatencies>;

const SMALLEST_MS = 0.01;
const STEP = Math.log(1.005);
/** Up to ten minutes. */
const BUCKETS = Math.ceil(Math.log(600_000 / SMALLEST_MS) / STEP);

export function createLatencies() {
  const counts = new Uint32Array(BUCKETS + 1);
  let total = 0;
  let largestMs = 0;

  return {
    add(ms: number): void {
      const bucket = Math.max(0, Math.min(BUCKETS, Math.ceil(Math.log(ms / SMALLEST_MS) / STEP)));
      counts[bucket] = (counts[bucket] ?? 0) + 1;
      total += 1;
      largestMs = Math.max(largestMs, ms);
    },
    count: () => total,
    largestMs: () => largestMs,
    /** The latency that `share` (0 to 1) of all stay within, half a percent exact; 0 when there are none. */
    quantileMs(share: number): number {
      const rank = Math.ceil(total * share);
      let seen = 0;
      for (const [bucket, count] of counts.entries()) {
        seen += count;
        if (seen >= rank && seen > 0) return Math.min(largestMs, SMALLEST_MS * Math.exp(bucket * STEP));
      }
      return largestMs;
    },
  };
}
