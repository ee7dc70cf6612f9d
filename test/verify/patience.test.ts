import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { sampleEnvelope } from "../../shared/samples.ts";
import { ANSWER_LOST, attempts, attemptsAfter, sixInARow } from "../../simulator/verify/attempts.ts";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import type { Verdict } from "../../simulator/verify/check.ts";
import type { Exchange } from "../../simulator/verify/delivery.ts";
import { createPatience } from "../../simulator/verify/patience.ts";
import { runChecks } from "../../simulator/verify/run.ts";
import { DEFAULT_TIMING } from "../../simulator/verify/timing.ts";
import { QUICK_RUN } from "../mutants/judge.ts";
import { startMutant } from "../mutants/receiver.ts";
import { exchange } from "./exchange.ts";

const ENVELOPE = sampleEnvelope("call.completed");

const FROM_NOWHERE = exchange("timeout", { eventId: ENVELOPE.id, durationMs: 10_000 });

/** A receiver that never answers in time; returns the maximum of open deliveries, and their number. */
function deaf() {
  const seen = { count: 0, atOnce: 0 };
  let underWay = 0;
  return {
    seen,
    timing: { ...DEFAULT_TIMING, retryMs: 0 },
    answerTimeoutMs: () => DEFAULT_TIMING.responseTimeoutMs,
    deliver: async (): Promise<Exchange> => {
      seen.count += 1;
      underWay += 1;
      seen.atOnce = Math.max(seen.atOnce, underWay);
      await sleep(1);
      underWay -= 1;
      return FROM_NOWHERE;
    },
  };
}

test("waits for the same time-out run in parallel: for five of six attempts", async () => {
  const receiver = deaf();
  expect(await attempts(receiver, ENVELOPE)).toHaveLength(6);
  expect(receiver.seen).toEqual({ count: 6, atOnce: 5 });
});

test("if answers are known to come too late, verify does not wait for them again", async () => {
  const receiver = deaf();
  const hurried = {
    ...receiver,
    timing: { ...receiver.timing, underWayMs: 0 },
    answerTimeoutMs: () => 2_000,
  };
  expect(await attempts(hurried, ENVELOPE)).toHaveLength(1);
  // The delivery with the lost answer, and one more.
  expect(await attemptsAfter(hurried, ENVELOPE, ANSWER_LOST)).toHaveLength(2);
});

test("six copies in a row are each signed a second later than the last", async () => {
  const ages: (number | undefined)[] = [];
  const refused = exchange("reset");
  await sixInARow({ deliver: async (_what, options) => (ages.push(options?.ageSeconds), refused) }, ENVELOPE);
  expect(ages).toEqual([5, 4, 3, 2, 1, 0]);
});

test("after a lost answer the last attempt waits until that answer would have come, from its beginning on", async () => {
  const refused = exchange("reset");
  const startedAt = performance.now();
  const atMs: number[] = [];
  const deliver = async (): Promise<Exchange> => {
    atMs.push(performance.now() - startedAt);
    return refused;
  };
  const timing = { ...DEFAULT_TIMING, retryMs: 0, underWayMs: 150 };
  await attemptsAfter({ deliver, timing, answerTimeoutMs: () => 10_000 }, ENVELOPE, ANSWER_LOST);
  expect(atMs).toHaveLength(8);
  // Timers of Node.js may be a millisecond or two early.
  expect(atMs.at(-1)).toBeGreaterThanOrEqual(145);
});

test("of six copies in a row, none is sent after one that had no answer in time", async () => {
  const receiver = deaf();
  await sixInARow(receiver, ENVELOPE);
  expect(receiver.seen.count).toBe(1);
});

test.each([
  ["must", 100],
  ["advice", 1_500],
] as const)(
  "after a check of the level %s without an answer in time, the next waits %i ms",
  async (level, waitsMs) => {
    const timing = { ...DEFAULT_TIMING, responseTimeoutMs: 1_500, hurriedTimeoutMs: 100 };
    const patience = createPatience({ timing, begunAtMs: performance.now() });
    const exchange = { ...FROM_NOWHERE, durationMs: 1_460 };
    const failed: Verdict = { outcome: "failed", cause: "timed_out", problem: "", exchanges: [exchange] };
    expect(patience.answerTimeoutMs()).toBe(1_500);
    expect(patience.judge({ id: "x", level }, failed)).toBe(failed);
    expect(patience.answerTimeoutMs()).toBe(Math.max(250, waitsMs));
  },
);

test("no more others are sent between an event and its copy than there is time for", async () => {
  const receiver = await startMutant({ beforeAnswer: () => sleep(30) }, Date.now);
  const report = await runChecks({
    ...QUICK_RUN,
    url: receiver.url,
    checks: CATALOGUE.filter(({ id }) => id === "effects.after-many-others"),
    observe: async (eventId) => ({ known: true, count: receiver.handled(eventId) }),
    timing: { manyOthers: 5_000, manyOthersMs: 100 },
  });
  await receiver.close();
  expect(report.results.at(-1)).toMatchObject({
    outcome: "unverified",
    explanation: expect.stringMatching(/^After \d+ others: there was no time for 5000/),
  });
});

test("a run ends in time if a receiver answers nothing or handles nothing", async () => {
  const timing = { runMs: 3_000, lateMs: 1_500, responseTimeoutMs: 2_000, quietMs: 10 };
  for (const plant of [{ beforeAnswer: () => sleep(60_000) }, { handledAfterMs: () => 60_000 }]) {
    const receiver = await startMutant(plant, Date.now);
    const startedAt = performance.now();
    const report = await runChecks({
      ...QUICK_RUN,
      url: receiver.url,
      checks: CATALOGUE.filter(({ phase, group }) => phase !== "crash" && group !== "production"),
      observe: async (eventId) => ({ known: true, count: receiver.handled(eventId) }),
      timing,
    });
    expect(performance.now() - startedAt).toBeLessThan(12_000);
    expect(report.verdict).toBe("failed");
    await receiver.close();
  }
});
