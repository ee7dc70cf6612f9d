import { expect, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";

/** Longer than any test may take: one that sleeps to the end has failed. */
const HOUR_MS = 3_600_000;

test("a sleep ends as soon as its signal is aborted, and like any other", async () => {
  const patience = new AbortController();
  const sleeping = systemClock.sleep(HOUR_MS, patience.signal);
  patience.abort(new Error("never seen"));
  await expect(sleeping).resolves.toBeUndefined();
});

test("a sleep whose signal was aborted before is none", async () => {
  await expect(systemClock.sleep(HOUR_MS, AbortSignal.abort())).resolves.toBeUndefined();
});

test("a sleep takes its time when nobody aborts it", async () => {
  const { signal } = new AbortController();
  const startedAtMs = systemClock.monotonicMs();
  await systemClock.sleep(5, signal);
  expect(systemClock.monotonicMs() - startedAtMs).toBeGreaterThan(3);
});
