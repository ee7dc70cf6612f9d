import { join } from "node:path";
import { expect, test } from "vitest";
import { CRASHING_RECEIVER, judge, loadUntilGone, type Ledger, type Verdict } from "./crash/cycles.ts";
import { randomFrom, SEED } from "../helpers/seed.ts";
import { startProcess } from "./helpers/process.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";

/** Promises R1, R3 to R6 against kill -9: what was acknowledged is handled, and its database effects happen once. */

const random = randomFrom(SEED);
const RANDOM_CYCLES = Number(process.env["KILL_CYCLES"] ?? 14);

test(
  `kill -9 under load, at ${String(RANDOM_CYCLES)} random moments from seed ${String(SEED)}, loses nothing and repeats nothing`,
  { timeout: 60_000 + RANDOM_CYCLES * 15_000 },
  async () => {
    const databaseFile = join(temporaryDirectory(), "receiver.db");
    const ledger: Ledger = { acknowledged: new Set(), sent: new Set() };
    for (let cycle = 0; cycle < RANDOM_CYCLES; cycle += 1) {
      const receiver = await startProcess({
        entry: CRASHING_RECEIVER,
        environment: { DATABASE_URL: `sqlite:${databaseFile}` },
      });
      await loadUntilGone(receiver, ledger, {
        killAfter: { ms: random() * 300, handled: cycle % 2 === 0 },
      });
    }
    expectSound(await judge(databaseFile, ledger), { atLeast: RANDOM_CYCLES });
  },
);

test.for([
  ["before the commit", { CRASH_AT: "before-commit" }, {}],
  ["between the commit and the answer", { CRASH_AT: "after-commit" }, {}],
  ["between the answer and the claim", { RECEIVER_ROLE: "ingest" }, { killAfter: { acknowledgements: 20 } }],
  ["in the middle of a handler", {}, { type: "mid-handler" }],
  ["between a handler's writes and done", {}, { type: "before-done" }],
  ["right after done", {}, { type: "after-done" }],
] as const)(
  "kill -9 %s loses nothing and repeats nothing",
  { timeout: 120_000 },
  async ([, environment, load]) => {
    const databaseFile = join(temporaryDirectory(), "receiver.db");
    const ledger: Ledger = { acknowledged: new Set(), sent: new Set() };
    const receiver = await startProcess({
      entry: CRASHING_RECEIVER,
      environment: { DATABASE_URL: `sqlite:${databaseFile}`, ...environment },
    });
    await loadUntilGone(receiver, ledger, load);
    expectSound(await judge(databaseFile, ledger), { atLeast: 1 });
  },
);

function expectSound(verdict: Verdict, { atLeast }: { atLeast: number }): void {
  expect(verdict).toMatchObject({ lost: [], twice: [], strangers: [], unfinished: 0 });
  expect(verdict.acknowledged).toBeGreaterThanOrEqual(atLeast);
}
