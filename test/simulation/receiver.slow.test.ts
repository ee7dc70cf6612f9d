import { expect, test } from "vitest";
import { sized } from "../helpers/run/sizes.ts";
import { SEED } from "../helpers/seed.ts";
import { shrink } from "./shrink.ts";
import { simulate } from "./simulation.ts";

/** The long run is `npm run torture -- --only simulated`. */
const SEEDS = sized("SIMULATION_SEEDS", { quick: 2, all: 10 });
const FROM = process.env["SEED"] === undefined ? 1 : SEED;

/** The runs of the first two seeds, which the second test compares with one more. */
const runs = new Map<number, ReturnType<typeof simulate>>();
function runOf(seed: number): ReturnType<typeof simulate> {
  const run = runs.get(seed) ?? simulate(seed);
  if (seed < FROM + 2) runs.set(seed, run);
  return run;
}

test(
  `${String(SEEDS)} seeds of service and receiver in one world break no promise`,
  // A seed takes 2 s of a processor; beside busy processes several times as long.
  { timeout: 60_000 + SEEDS * 30_000 },
  async () => {
    const totals = { events: 0, effects: 0, lives: 0 };
    for (let seed = FROM; seed < FROM + SEEDS; seed += 1) {
      const result = await runOf(seed).catch((error: unknown) => {
        throw new Error(`Again: node test/simulation/main.ts --seeds 1 --from ${String(seed)}`, {
          cause: error,
        });
      });
      totals.events += result.events;
      totals.effects += result.effects;
      totals.lives += result.lives;
    }
    // A simulation in which nothing happens proves nothing.
    expect(totals.events).toBeGreaterThan(SEEDS * 30);
    expect(totals.effects).toBeGreaterThan(SEEDS * 20);
    expect(totals.lives).toBeGreaterThan(SEEDS * 4);
  },
);

test("the same seed makes the same run, and another one another", async () => {
  const [one, again, other] = [await runOf(FROM), await simulate(FROM), await runOf(FROM + 1)];
  expect(again).toEqual(one);
  expect(other.trace).not.toBe(one.trace);
});

test("a step that is left out leaves the others what they were, and the smallest failing schedule is found", async () => {
  // Fails as soon as both of two steps are there.
  const tried: number[] = [];
  const run = async (skip: ReadonlySet<number>): Promise<void> => {
    tried.push(skip.size);
    if (!skip.has(17) && !skip.has(42)) throw new Error("both");
  };
  expect(await shrink(run, 60)).toEqual({ kept: [17, 42], message: "both" });
  expect(tried.length).toBeLessThan(200);
});
