import { describe, expect, test } from "vitest";
import { createReceiverClock } from "../../simulator/verify/receiver-clock.ts";
import { exchange } from "./exchange.ts";

/** Our manual clock, and a receiver's clock `aheadMs` ahead of it that is shown in whole seconds. */
function clocks({ aheadMs, local = false }: { aheadMs: number; local?: boolean }) {
  let nowMs = 1_800_000_000_400;
  const clock = createReceiverClock({ local, now: () => nowMs });
  return {
    clock,
    /** One exchange: request and answer take `wayMs` each. */
    exchange: (wayMs: number, options: { date?: boolean; staleMs?: number } = {}): void => {
      const sentAtMs = nowMs;
      nowMs += wayMs;
      const itsMs = nowMs + aheadMs - (options.staleMs ?? 0);
      nowMs += wayMs;
      const headers: [string, string][] =
        options.date === false ? [] : [["DATE", new Date(itsMs).toUTCString()]];
      const answer = {
        kind: "answered",
        status: 200,
        headers,
        body: Buffer.alloc(0),
        complete: true,
      } as const;
      clock.learn(exchange(200, { outcome: answer }), sentAtMs);
    },
    pass: (ms: number): void => void (nowMs += ms),
  };
}

describe("the receiver's clock", () => {
  test.each([-37_400, 37_400, -299_950])(
    "%i ms ahead is found, with the uncertainty of an old Date header",
    (aheadMs) => {
      const { clock, exchange, pass } = clocks({ aheadMs });
      for (let sent = 0; sent < 60; sent += 1) {
        exchange(3);
        pass(23);
      }
      const { at, least, most, exact } = clock.known() ?? { at: 0, least: 0, most: 0, exact: true };
      expect(Math.abs(at - aheadMs / 1_000)).toBeLessThan(0.04);
      expect(least).toBeLessThanOrEqual(aheadMs / 1_000);
      expect(most).toBeGreaterThanOrEqual(aheadMs / 1_000 + 1);
      expect(exact).toBe(false);
    },
  );

  test.each([0, 300, 1_040])(
    "on this machine it is ours, even if its Date is %i ms old, and without uncertainty if that is fresh",
    (staleMs) => {
      const { clock, exchange, pass } = clocks({ aheadMs: 0, local: true });
      for (let sent = 0; sent < 60; sent += 1) {
        exchange(3, { staleMs });
        pass(23);
      }
      expect(clock.known()).toMatchObject({ at: 0, exact: staleMs === 0 });
      expect(clock.known()?.most).toBeGreaterThanOrEqual(0);
    },
  );

  test("without a Date header it is ours on this machine, and unknown on another", () => {
    const here = clocks({ aheadMs: 0, local: true });
    const there = clocks({ aheadMs: 0 });
    here.exchange(2, { date: false });
    there.exchange(2, { date: false });
    expect([here.clock.known()?.exact, there.clock.known()]).toEqual([true, undefined]);
  });
});
