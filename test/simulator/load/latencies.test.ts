import { expect, test } from "vitest";
import { createLatencies } from "../../../simulator/load/latencies.ts";

test("a quantile is never below the exact value, and at most half a percent above it", () => {
  const latencies = createLatencies();
  for (let ms = 1; ms <= 100; ms++) latencies.add(ms);
  for (const percent of [1, 50, 75, 99, 100]) {
    const told = latencies.quantileMs(percent / 100);
    expect(told).toBeGreaterThanOrEqual(percent - 1e-9);
    expect(told).toBeLessThanOrEqual(percent * 1.005);
  }
  expect(latencies.largestMs()).toBe(100);
  expect(createLatencies().quantileMs(0.99)).toBe(0);
});
