import { expect, test } from "vitest";
import { createLatencies } from "../../../simulator/load/latencies.ts";
import { findKnee } from "../../../simulator/load/knee.ts";
import type { LoadPlan, LoadResult } from "../../../simulator/load/run.ts";

const PLAN = {
  url: "http://localhost:9/",
  secret: "whsec_test",
  durationMs: 1_000,
  connections: 1,
  duplicates: 0,
};

/** The result of a rate with a receiver that handles `most` requests a second, and beyond that `drops` or delays them. */
function receiver(most: number, drops: boolean) {
  return async ({ rate = 0 }: LoadPlan): Promise<LoadResult> => {
    const latencies = createLatencies();
    const isTooMuch = rate > most;
    latencies.add(isTooMuch && !drops ? 100 : 30);
    const dropped = isTooMuch && drops ? 1 : 0;
    const counts = { sent: rate, acknowledged: rate, duplicates: 0, dropped };
    return { ...counts, failures: {}, elapsedMs: 1_000, latencies };
  };
}

test.each([
  ["late answers", false],
  ["requests that were not sent", true],
])("the knee is doubled up to and then halved down to: by %s", async (_, drops) => {
  const steps: string[] = [];
  const knee = await findKnee(PLAN, {
    run: receiver(330, drops),
    isStopped: () => false,
    onStep: ({ rate, holds }) => steps.push(`${rate} ${holds}`),
  });
  expect(steps.join(", ")).toBe("50 true, 100 true, 200 true, 400 false, 300 true, 350 false, 325 true");
  expect(knee).toMatchObject({ rate: 325, stopped: false });
});

test("a knee is looked for from the highest rate on", async () => {
  const options = {
    firstRate: 100_000,
    run: receiver(100_000, true),
    isStopped: () => false,
    onStep: () => {},
  };
  expect(await findKnee(PLAN, options)).toMatchObject({ rate: 100_000, steps: [{ holds: true }] });
});

test("a quantile is never below the exact value, and at most half a percent above it", () => {
  const latencies = createLatencies();
  for (let ms = 1; ms <= 100; ms++) latencies.add(ms);
  for (const percent of [1, 50, 75, 99, 100]) {
    const measured = latencies.quantileMs(percent / 100);
    expect(measured).toBeGreaterThanOrEqual(percent - 1e-9);
    expect(measured).toBeLessThanOrEqual(percent * 1.005);
  }
  expect(latencies.largestMs()).toBe(100);
  expect(createLatencies().quantileMs(0.99)).toBe(0);
});
