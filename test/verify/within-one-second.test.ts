import { expect, test } from "vitest";
import { EVENT_TYPES } from "../../shared/events.ts";
import type { CheckContext } from "../../simulator/verify/context.ts";
import { createContext } from "../../simulator/verify/context.ts";
import type { Exchange } from "../../simulator/verify/delivery.ts";
import { createKillRounds } from "../../simulator/verify/kill-rounds.ts";
import { createLedger } from "../../simulator/verify/ledger.ts";
import { createReceiverClock } from "../../simulator/verify/receiver-clock.ts";
import { DEFAULT_TIMING } from "../../simulator/verify/timing.ts";

const EARLY_MS = 1_790_000_000_050;
const EXACT = { least: 0, most: 0 };
const NO_ANSWER: Exchange["outcome"] = { kind: "no_answer", error: "closed", message: "" };

/** How often something is sent whose answers take so long on the receiver's clock, and whether one counts. */
async function sentWith(...answersTakeMs: number[]): Promise<{ sent: number[]; counts: boolean }> {
  return sentIn(0, answersTakeMs);
}

/** The same with a receiver that takes so long for an answer, by itself. */
async function sentIn(
  durationMs: number,
  answersTakeMs: number[],
): Promise<{ sent: number[]; counts: boolean }> {
  let nowMs = EARLY_MS;
  const now = (): number => nowMs;
  const context: CheckContext = createContext({
    url: "http://127.0.0.1:1/",
    secret: "s",
    seed: "1",
    checkId: "signature.past-300",
    events: EVENT_TYPES,
    timing: DEFAULT_TIMING,
    answerTimeoutMs: () => DEFAULT_TIMING.responseTimeoutMs,
    ledger: createLedger({ nowMs: now }),
    clock: createReceiverClock({ local: true, now }),
    kills: createKillRounds(() => context),
    now,
  });
  const sent: number[] = [];
  const exchange = await context.withinOneSecond(EXACT, async (receiverSeconds) => {
    sent.push(receiverSeconds - EARLY_MS / 1_000 + 0.05);
    nowMs += answersTakeMs.shift() ?? 0;
    const { request } = context.compose(Buffer.alloc(0));
    return { eventId: "", request, outcome: NO_ANSWER, durationMs };
  });
  return { sent: sent.map(Math.round), counts: exchange !== undefined };
}

test("an answer that comes early in the same second counts", async () => {
  expect(await sentWith(300)).toEqual({ sent: [0], counts: true });
});

test("one that comes in the next second does not, and it is sent again", async () => {
  expect(await sentWith(1_000, 100)).toEqual({ sent: [0, 1], counts: true });
});

test("none counts where every answer comes in another second than its request", async () => {
  expect(await sentWith(...Array.from({ length: 8 }, () => 1_000))).toEqual({
    sent: [0, 1, 2, 3, 4, 5, 6, 7],
    counts: false,
  });
});

test.each([
  [450, 8],
  [451, 2],
])(
  "of a receiver that takes %i ms for an answer, no more than %i tries are made",
  async (durationMs, tries) => {
    const answersTakeMs = Array.from({ length: 8 }, () => 1_000);
    expect((await sentIn(durationMs, answersTakeMs)).sent).toHaveLength(tries);
  },
);
