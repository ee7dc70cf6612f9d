import { expect, test } from "vitest";
import { sized } from "../../helpers/run/sizes.ts";
import { simulate } from "./simulation.ts";

/** A few of them; `npm run torture -- --only simulated` plays ten thousand. */
const SEEDS = sized("DELIVERY_SEEDS", { quick: 4, all: 8 });

test(`${SEEDS} seeds of forty hours each break no promise`, async () => {
  const totals = { attempts: 0, lives: 0 };
  for (let seed = 1; seed <= SEEDS; seed++) {
    const result = await simulate(seed).catch((error: unknown) => {
      throw new Error(`seed ${seed}: node test/simulator/simulation/main.ts --seeds 1 --from ${seed}`, {
        cause: error,
      });
    });
    totals.attempts += result.attempts;
    totals.lives += result.lives;
  }
  // A simulation in which nothing happens proves nothing.
  expect(totals.attempts).toBeGreaterThan(SEEDS * 20);
  expect(totals.lives).toBeGreaterThan(SEEDS * 3);
});

test("the same seed makes the same run", async () => {
  expect(await simulate(11)).toEqual(await simulate(11));
});
