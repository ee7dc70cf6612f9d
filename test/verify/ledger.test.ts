import * as fc from "fast-check";
import { expect, test } from "vitest";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import type { Recorded } from "../../simulator/verify/delivery.ts";
import { createLedger } from "../../simulator/verify/ledger.ts";
import type { CheckContext } from "../../simulator/verify/context.ts";

const EVENT = "evt_1";

function sent(how: { status?: number; checkId?: string; forged?: boolean; connected?: boolean }): Recorded {
  const { status, checkId = "duplicates.some", forged = false, connected = true } = how;
  const outcome =
    status === undefined
      ? { kind: "no_answer" as const, error: "closed" as const, message: "The connection ended." }
      : { kind: "answered" as const, status, headers: [], body: Buffer.alloc(0) };
  const request = {
    url: "http://127.0.0.1:1/",
    headers: [],
    body: Buffer.alloc(0),
    signature: { headerName: "x", recipe: { t: [], headers: [] } },
    httpVersion: "1.1" as const,
  };
  return {
    checkId,
    forged,
    connected,
    exchange: { eventId: EVENT, request, outcome: outcome as never, durationMs: 1 },
  };
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

test.each([
  ["acknowledged", [sent({ status: 200 })], ["failed", "passed", "failed"]],
  ["acknowledged at last", [sent({}), sent({ status: 200 })], ["failed", "passed", "failed"]],
  ["refused, and may have been stored", [sent({ status: 500 })], ["passed", "passed", "failed"]],
  ["sent, and its answer lost", [sent({})], ["passed", "passed", "failed"]],
  ["never on its way", [sent({ connected: false })], ["passed", "failed", "failed"]],
  ["forged, and refused", [sent({ status: 401, forged: true })], ["passed", "failed", "failed"]],
  ["forged, and accepted", [sent({ status: 200, forged: true })], ["passed", "passed", "passed"]],
  [
    "genuine beside a forgery",
    [sent({ status: 401, forged: true }), sent({ status: 200 })],
    ["failed", "passed", "failed"],
  ],
  ["judged by effects", [sent({ status: 200, checkId: "effects.burst" })], ["passed", "passed", "passed"]],
  ["judged by crash", [sent({ status: 200, checkId: "crash.kills" })], ["passed", "passed", "passed"]],
] as const)("an event that was %s may be handled 0, 1, 2 times: %#", async (_what, deliveries, outcomes) => {
  expect(await Promise.all([0, 1, 2].map((count) => judged([...deliveries], count)))).toEqual(outcomes);
});

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
