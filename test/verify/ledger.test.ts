import * as fc from "fast-check";
import { expect, test } from "vitest";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import type { Recorded } from "../../simulator/verify/delivery.ts";
import { createLedger } from "../../simulator/verify/ledger.ts";
import type { CheckContext } from "../../simulator/verify/context.ts";
import { exchange } from "./exchange.ts";

const EVENT = "evt_1";

function sent(how: { status?: number; checkId?: string; forged?: boolean; connected?: boolean }): Recorded {
  const { status, checkId = "duplicates.some", forged = false, connected = true } = how;
  return { checkId, forged, connected, exchange: exchange(status ?? "closed", { eventId: EVENT }) };
}

/** The result of the check at the end of a run if the event, sent like this, was handled `count` times. */
async function judged(deliveries: Recorded[], count: number, about?: "undocumented" | "superseded") {
  const ledger = createLedger();
  if (about !== undefined) ledger[about](EVENT);
  for (const delivery of deliveries) ledger.record(delivery);
  const check = CATALOGUE.find(({ id }) => id === "effects.ledger");
  const verdict = await check?.run({ ledger } as CheckContext);
  if (verdict?.outcome !== "pending") throw new Error("It does not wait for effects.");
  return verdict.judge({ of: () => ({ known: true, count }) }).outcome;
}

test.each(["effects.burst", "crash.kills"])(
  "an event that %s sent is judged by it alone",
  async (checkId) => {
    const outcomes = [0, 1, 2].map((count) => judged([sent({ status: 200, checkId })], count));
    expect(await Promise.all(outcomes)).toEqual(["passed", "passed", "passed"]);
  },
);

test.each(["undocumented", "superseded"] as const)(
  "an acknowledged event that is %s need not be handled",
  async (about) => {
    const outcomes = [0, 1, 2].map((count) => judged([sent({ status: 200 })], count, about));
    expect(await Promise.all(outcomes)).toEqual(["passed", "passed", "failed"]);
  },
);

/** The possible outcomes of one delivery of an event. */
const FATES = {
  acknowledged: { status: 200 },
  failed: { status: 500 },
  lost: {},
  away: { connected: false },
  "forgery refused": { status: 401, forged: true },
  "forgery accepted": { status: 204, forged: true },
} as const;

test("of several deliveries of an event each outcome counts, in any order", async () => {
  const fates = fc.array(fc.constantFrom(...Object.keys(FATES).filter((name) => name in FATES)), {
    minLength: 1,
    maxLength: 6,
  });
  await fc.assert(
    fc.asyncProperty(fates, async (names) => {
      const deliveries = names.map((name) => sent(FATES[name as keyof typeof FATES]));
      const has = (...wanted: (keyof typeof FATES)[]) => wanted.some((name) => names.includes(name));
      const expected = has("forgery accepted")
        ? ["passed", "passed", "passed"]
        : has("acknowledged")
          ? ["failed", "passed", "failed"]
          : has("failed", "lost")
            ? ["passed", "passed", "failed"]
            : ["passed", "failed", "failed"];
      expect(await Promise.all([0, 1, 2].map((count) => judged(deliveries, count)))).toEqual(expected);
    }),
  );
});
