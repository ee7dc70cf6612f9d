import { expect, test } from "vitest";
import { attempts } from "../../simulator/verify/attempts.ts";
import type { Exchange } from "../../simulator/verify/delivery.ts";
import { DEFAULT_TIMING } from "../../simulator/verify/timing.ts";
import { exchange } from "./exchange.ts";

/** Gives these answers one after another, and then 503. */
async function attemptsAnswered(...statuses: number[]): Promise<(number | undefined)[]> {
  const exchanges = await attempts(
    {
      timing: { ...DEFAULT_TIMING, retryMs: 0 },
      answerTimeoutMs: () => DEFAULT_TIMING.responseTimeoutMs,
      deliver: (): Promise<Exchange> => Promise.resolve(exchange(statuses.shift() ?? 503)),
    },
    Buffer.alloc(0),
  );
  return exchanges.map(({ outcome }) => (outcome.kind === "answered" ? outcome.status : undefined));
}

test("a delivery is repeated until it is acknowledged", async () => {
  expect(await attemptsAnswered(200, 200)).toEqual([200]);
  expect(await attemptsAnswered(500, 409, 204, 200)).toEqual([500, 409, 204]);
});

test("and no more than six times in all", async () => {
  expect(await attemptsAnswered()).toHaveLength(6);
});

test("each retry waits longer than the one before", async () => {
  const retryMs = 20;
  const atMs: number[] = [];
  const timing = { ...DEFAULT_TIMING, retryMs };
  await attempts(
    {
      timing,
      answerTimeoutMs: () => timing.responseTimeoutMs,
      deliver: (): Promise<Exchange> => {
        atMs.push(performance.now());
        return Promise.resolve(exchange(503));
      },
    },
    Buffer.alloc(0),
  );
  const gapsMs = atMs.slice(1).map((ms, index) => ms - (atMs[index] ?? 0));
  expect(gapsMs).toHaveLength(5);
  // Timers of Node.js may be a millisecond or two early.
  for (const [index, gapMs] of gapsMs.entries())
    expect(gapMs).toBeGreaterThanOrEqual(retryMs * (index + 1) - 2);
});
