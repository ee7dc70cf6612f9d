import { join } from "node:path";
import { expect, test } from "vitest";
import { CRASHING_RECEIVER, judge, loadUntilGone, type Ledger } from "./crash/cycles.ts";
import { randomFrom, SEED } from "../../helpers/seed.ts";
import { EndedEarly, startProcess, type ReceiverProcess } from "../helpers/process.ts";
import { ALL, sized } from "../../helpers/run/sizes.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

/** Promises R1, R3 to R6 against kill -9: what was acknowledged is handled, and its database effects happen once. */

const random = randomFrom(SEED);
const RANDOM_CYCLES = sized("KILL_CYCLES", { quick: 1, all: 4 });

type Load = Omit<Parameters<typeof loadUntilGone>[2], "where">;

type Point = readonly [string, Record<string, string>, Load];

/** The points at which the receiver is killed, and how; the second half only with `npm run test:all`. */
const ALL_POINTS: readonly Point[] = [
  ["before the commit", { CRASH_AT: "before-commit" }, {}],
  ["between the commit and its sync", { CRASH_AT: "before-sync" }, {}],
  ["between a handler's writes and done", {}, { type: "before-done" }],
  ["between the sync and the answer", { CRASH_AT: "after-sync" }, {}],
  ["between the answer and the claim", { RECEIVER_ROLE: "ingest" }, { killAfter: { acknowledgements: 20 } }],
  ["in the middle of a handler", {}, { type: "mid-handler" }],
  ["right after done", {}, { type: "after-done" }],
];
const POINTS = ALL ? ALL_POINTS : ALL_POINTS.slice(0, 3);

const cycleOf = (cycle: number): Point => [
  `at random moment ${String(cycle + 1)}`,
  {},
  { killAfter: { ms: random() * 300, handled: cycle % 2 === 0 } },
];

test(
  `kill -9 at ${String(POINTS.length)} named points and ${String(RANDOM_CYCLES)} random moments under load, from seed ${String(SEED)}, loses nothing and repeats nothing`,
  { timeout: 120_000 + RANDOM_CYCLES * 15_000 },
  async () => {
    const databaseFile = join(temporaryDirectory(), "receiver.db");
    const ledger: Ledger = { acknowledged: new Map(), sent: new Set() };
    // One process after another on the same files: each finds what the last one left.
    const lives = [...POINTS, ...Array.from({ length: RANDOM_CYCLES }, (_, cycle) => cycleOf(cycle))];
    for (const [where, environment, load] of lives) {
      const receiver = await startListening({ DATABASE_URL: `sqlite:${databaseFile}`, ...environment });
      await loadUntilGone(receiver, ledger, { ...load, where });
    }
    expect(ledger.acknowledged.size).toBeGreaterThanOrEqual(lives.length);
    expect(await judge(databaseFile, ledger)).toEqual({ lost: [], twice: [], unknown: [], unfinished: 0 });
  },
);

/** Jobs of earlier processes may kill a new one before it listens, once for each deadly event. */
async function startListening(environment: Record<string, string>): Promise<ReceiverProcess> {
  for (;;) {
    const started = await startProcess({ entry: CRASHING_RECEIVER, environment }).catch((error: unknown) => {
      if (error instanceof EndedEarly && error.signal === "SIGKILL") return undefined;
      throw error;
    });
    if (started) return started;
  }
}
