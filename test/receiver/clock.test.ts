import { getEventListeners } from "node:events";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock, within } from "../../receiver/clock.ts";
import { standingClock } from "./helpers/clock.ts";

/** Longer than the time-out of a test: one that sleeps to the end fails. */
const HOUR_MS = 3_600_000;

test("a sleep takes its time, unless its signal is aborted, before or meanwhile", async () => {
  const patience = new AbortController();
  const sleeping = systemClock.sleep(HOUR_MS, patience.signal);
  patience.abort(new Error("never seen"));
  await expect(sleeping).resolves.toBeUndefined();
  await expect(systemClock.sleep(HOUR_MS, patience.signal)).resolves.toBeUndefined();
  const startedAtMs = systemClock.monotonicMs();
  const { signal } = new AbortController();
  await systemClock.sleep(5, signal);
  expect(getEventListeners(signal, "abort")).toEqual([]);
  expect(systemClock.monotonicMs() - startedAtMs).toBeGreaterThan(3);
});

/** More than a timer of Node.js can wait: passed on unchanged, it would fire at once. */
const TOO_LONG_MS = 2 ** 31;

test("a wait longer than the maximum of a timer does not end at once", async () => {
  const patience = new AbortController();
  let isOver = false;
  const sleeping = systemClock.sleep(TOO_LONG_MS, patience.signal).then(() => (isOver = true));
  const cancel = systemClock.after(TOO_LONG_MS, () => (isOver = true));
  await systemClock.sleep(20);
  expect(isOver).toBe(false);
  cancel();
  patience.abort();
  await sleeping;
});

test("a scheduled call keeps no process alive, and is not made after it was cancelled", async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const before = timers();
  let calls = 0;
  const cancel = systemClock.after(5, () => (calls += 1));
  expect(timers()).toBe(before);
  cancel();
  const called = new Promise<void>((resolve) => systemClock.after(10, resolve));
  await Promise.all([called, systemClock.sleep(20)]);
  expect(calls).toBe(0);
});

test("the real time advances under the fake timers of a test", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const startedAtMs = systemClock.monotonicMs();
  await systemClock.sleep(5);
  await new Promise<void>((resolve) => systemClock.after(5, resolve));
  expect(systemClock.monotonicMs() - startedAtMs).toBeGreaterThan(6);
});

test.each<[string, () => Promise<string>, unknown]>([
  ["comes in time", async () => "this", "this"],
  ["fails in time", async () => Promise.reject(new Error("that")), new Error("that")],
  ["never comes", async () => new Promise(() => undefined), undefined],
])("what %s is waited for only so long, and nothing of the waiting is left", async (_how, work, expected) => {
  const clock = standingClock();
  let ended: unknown = "not yet";
  void within(1_000, work(), clock).then(
    (result) => (ended = result),
    (error: unknown) => (ended = error),
  );
  await clock.pass(999);
  expect(ended).toEqual(expected ?? "not yet");
  expect(clock.waiting()).toBe(expected === undefined ? 1 : 0);
  await clock.pass(1);
  expect([ended, clock.waiting()]).toEqual([expected, 0]);
});
