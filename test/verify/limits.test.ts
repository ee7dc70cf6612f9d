import { describe, expect, test } from "vitest";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import type { Check } from "../../simulator/verify/check.ts";
import { signatureTimeRuns } from "../../simulator/verify/checks/signature-time.ts";
import type { CheckContext } from "../../simulator/verify/context.ts";
import type { Exchange } from "../../simulator/verify/delivery.ts";
import { createReceiverClock } from "../../simulator/verify/receiver-clock.ts";
import { runChecks } from "../../simulator/verify/run.ts";
import { QUICK_RUN } from "../mutants/judge.ts";
import { within } from "../mutants/planted/helpers.ts";
import { type Behaviour, CORRECT } from "../mutants/behaviour.ts";
import { startMutant } from "../mutants/receiver.ts";

const LIMITS = CATALOGUE.filter(({ id }) => /^signature\.(?:past|future)-\d|signed-just-now/.test(id));
const WIDE = { ageAccepted: within((age) => Math.abs(age) <= 310) };

describe.concurrent("the limits of the window", () => {
  test("hold for a receiver whose clock is 37.4 s ahead", async ({ expect }) => {
    expect(await judged({ aheadMs: 37_400 })).toEqual([]);
  });

  test("hold for a receiver that keeps its Date for a second, as uvicorn does, each time", async ({
    expect,
  }) => {
    const runs = Array.from({ length: 11 }, (_, n) => judged({ staleMs: 100 * n }));
    expect((await Promise.all(runs)).flat()).toEqual([]);
  });

  // In any part of a second, the first answers are consistent with our clock.
  test.for([-500, 500])(
    "hold for a receiver behind a tunnel, whose clock is %i ms off",
    async (aheadMs, { expect }) => {
      const runs = [20, 300, 520, 950].map((intoSecondMs) =>
        judged({ aheadMs, now: clockFrom(intoSecondMs) }),
      );
      expect((await Promise.all(runs)).flat()).toEqual([]);
    },
  );

  test("are tested to the second if the clock is known", async ({ expect }) => {
    const plant = { ageAccepted: within((age) => Math.abs(age) <= 301) };
    // Time passes slowly, so that a delay on a busy machine does not reach the next second.
    expect(await judged({ plant, now: clockFrom(20, 60) })).toEqual([
      "signature.past-301",
      "signature.future-301",
    ]);
  });

  test.each([{ staleMs: 700 }, { aheadMs: -112_700 }])(
    "are tested to some seconds if %o leaves the clock unknown",
    async (clock) => {
      expect(await judged({ ...clock, plant: WIDE, now: clockFrom(20, 60) })).toEqual([
        "signature.past-301",
        "signature.future-301",
      ]);
    },
  );
});

test("a clock half a second behind is distinguished from ours, however early in a second the tries begin", async () => {
  for (let intoSecondMs = 0; intoSecondMs < 20; intoSecondMs += 2) {
    const now = clockFrom(intoSecondMs);
    const clock = createReceiverClock({ local: true, now });
    const deliver = async (_: unknown, { ageSeconds }: { ageSeconds: number }) => {
      const sentAtMs = now();
      const age = Math.floor((now() - 500) / 1_000) - Math.floor(sentAtMs / 1_000) + ageSeconds;
      const headers = [["date", new Date(now() - 500).toUTCString()]];
      const exchange = { outcome: { kind: "answered", status: age > 300 ? 401 : 200, headers, body: "" } };
      clock.learn(exchange as unknown as Exchange, sentAtMs);
      return exchange;
    };
    const nowSeconds = () => Math.floor(now() / 1_000);
    const context = { clock, deliver, event: () => ({}), now, nowSeconds } as unknown as CheckContext;
    const run = signatureTimeRuns["signature.past-301"];
    expect(await (run as Check["run"])(context)).toMatchObject({ outcome: "passed" });
  }
});

test.each([-5, 5])("a clock that is %i s off, and known within 5 s, fails no limit", async (aheadSeconds) => {
  const deliver = async (_: unknown, { ageSeconds }: { ageSeconds: number }) => {
    const status = Math.abs(ageSeconds + aheadSeconds) > 300 ? 401 : 200;
    return { outcome: { kind: "answered", status, headers: [], body: "" } };
  };
  const clock = { known: () => ({ at: 0, least: -5, most: 5, exact: false }) };
  const moment = { now: () => 1_000_100, nowSeconds: () => 1_000 };
  const context = { ...moment, clock, deliver, event: () => ({}) } as unknown as CheckContext;
  const failed: string[] = [];
  for (const [id, run] of Object.entries(signatureTimeRuns))
    if (/-\d+$/.test(id) && (await (run as Check["run"])(context)).outcome !== "passed") failed.push(id);
  expect(failed).toEqual([]);
});

/** A clock that starts at this part of a second, and may run slower than ours. */
function clockFrom(intoSecondMs: number, slower = 1): () => number {
  const beganMs = Math.floor(Date.now() / 1_000) * 1_000 + intoSecondMs;
  const startedMs = performance.now();
  return () => beganMs + Math.floor((performance.now() - startedMs) / slower);
}

/** The failed checks of a receiver with another clock than ours, and with a Date header that may be old. */
async function judged(options: {
  aheadMs?: number;
  staleMs?: number;
  plant?: Partial<Behaviour>;
  now?: () => number;
}) {
  const { aheadMs = 0, staleMs = 0, plant, now = Date.now } = options;
  const itsClock = (): number => now() + aheadMs;
  const receiver = await startMutant(
    {
      ...plant,
      answer: (response, status) => {
        response.setHeader("date", new Date(itsClock() - staleMs).toUTCString());
        CORRECT.answer(response, status);
      },
    },
    itsClock,
  );
  try {
    const { results } = await runChecks({ ...QUICK_RUN, url: receiver.url, checks: LIMITS, now });
    return results.filter(({ outcome }) => outcome !== "passed").map(({ check }) => check.id);
  } finally {
    await receiver.close();
  }
}
