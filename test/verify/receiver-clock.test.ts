import { describe, expect, test } from "vitest";
import type { Exchange } from "../../simulator/verify/delivery.ts";
import { createReceiverClock } from "../../simulator/verify/receiver-clock.ts";

/** Our clock, moved by hand, and a receiver's that is `aheadMs` ahead of it and says so in whole seconds. */
function clocks({ aheadMs, local = false }: { aheadMs: number; local?: boolean }) {
  let nowMs = 1_800_000_000_400;
  const clock = createReceiverClock({ local, now: () => nowMs });
  return {
    clock,
    /** One exchange: the request and the answer take `wayMs` each. */
    exchange: (wayMs: number, options: { date?: boolean; staleMs?: number } = {}): void => {
      const sentAtMs = nowMs;
      nowMs += wayMs;
      const itsMs = nowMs + aheadMs - (options.staleMs ?? 0);
      nowMs += wayMs;
      clock.learn(answered(options.date === false ? undefined : new Date(itsMs).toUTCString()), sentAtMs);
    },
    pass: (ms: number): void => void (nowMs += ms),
  };
}

describe("the receiver's clock", () => {
  test.each([0, 420, -730, 37_400, -299_950])("%i ms ahead is found within what the way takes", (aheadMs) => {
    const { clock, exchange, pass } = clocks({ aheadMs });
    for (let sent = 0; sent < 60; sent += 1) {
      exchange(3);
      pass(23);
    }
    const { least, most } = clock.known() ?? { least: 0, most: 0 };
    expect(least).toBeLessThanOrEqual(aheadMs / 1_000);
    expect(most).toBeGreaterThanOrEqual(aheadMs / 1_000);
    expect(most - least).toBeLessThan(0.04);
  });

  test("one answer alone leaves it open by a second", () => {
    const { clock, exchange } = clocks({ aheadMs: 5_000 });
    exchange(2);
    const { least, most } = clock.known() ?? { least: 0, most: 0 };
    expect(most - least).toBeGreaterThan(0.99);
    expect(most - least).toBeLessThan(1.01);
  });

  test("a Date that is written a little late moves the bounds by no more than that", () => {
    const { clock, exchange, pass } = clocks({ aheadMs: 2_000 });
    for (let sent = 0; sent < 60; sent += 1) {
      exchange(2, { staleMs: sent % 7 === 0 ? 40 : 0 });
      pass(23);
    }
    const { least, most } = clock.known() ?? { least: 0, most: 0 };
    expect(least).toBeGreaterThan(1.95);
    expect(most).toBeLessThan(2.05);
  });

  test("without a Date header it is ours on this machine, and unknown on another", () => {
    const here = clocks({ aheadMs: 0, local: true });
    const there = clocks({ aheadMs: 0 });
    here.exchange(2, { date: false });
    there.exchange(2, { date: false });
    expect([here.clock.known(), there.clock.known()]).toEqual([{ least: 0, most: 0 }, undefined]);
  });

  test("measuring asks again only until it is known well enough", async () => {
    const { clock, exchange, pass } = clocks({ aheadMs: 10_000 });
    let samples = 0;
    const offset = await clock.measure(async () => {
      samples += 1;
      exchange(2);
      pass(100);
    });
    expect((offset?.most ?? 9) - (offset?.least ?? 0)).toBeLessThanOrEqual(0.15);
    expect(samples).toBeLessThan(12);
    const before = samples;
    await clock.measure(async () => void (samples += 1));
    expect(samples).toBe(before);
  });
});

function answered(date: string | undefined): Exchange {
  return {
    eventId: "evt_1",
    request: {
      url: "http://127.0.0.1/",
      headers: [],
      body: Buffer.alloc(0),
      signature: { headerName: "X-Service-Signature", recipe: { t: [], headers: [] } },
      httpVersion: "1.1",
    },
    outcome: {
      kind: "answered",
      status: 200,
      headers: date === undefined ? [] : [["DATE", date]],
      body: Buffer.alloc(0),
      complete: true,
    },
    durationMs: 4,
  };
}
