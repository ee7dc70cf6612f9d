import { expect, test } from "vitest";
import { sized } from "../helpers/run/sizes.ts";
import { SEED } from "../helpers/seed.ts";
import { simulate } from "./simulation.ts";

/** The long run is `npm run torture -- --only simulated`. */
const SEEDS = sized("SIMULATION_SEEDS", { quick: 2, all: 10 });
const FROM = process.env["SEED"] === undefined ? 1 : SEED;

test(
  `${SEEDS} seeds of service and receiver in one world break no promise`,
  // A seed takes a second of a processor; beside busy processes several times as long.
  { timeout: 60_000 + SEEDS * 30_000 },
  async () => {
    const totals = { events: 0, effects: 0, processes: 0 };
    for (let seed = FROM; seed < FROM + SEEDS; seed += 1) {
      const result = await simulate(seed).catch((error: unknown) => {
        throw new Error(`Again: node test/simulation/main.ts --seeds 1 --from ${seed}`, { cause: error });
      });
      for (const name of ["events", "effects", "processes"] as const) totals[name] += result[name];
    }
    // A simulation in which nothing happens proves nothing.
    expect(totals.events).toBeGreaterThan(SEEDS * 30);
    expect(totals.effects).toBeGreaterThan(SEEDS * 20);
    expect(totals.processes).toBeGreaterThan(SEEDS * 3);
  },
);

test("the same seed makes the same run, and another one another", async () => {
  const [one, again, other] = [await simulate(FROM), await simulate(FROM), await simulate(FROM + 1)];
  expect(again).toEqual(one);
  expect(other.trace).not.toBe(one.trace);
});

test("control: a disk that loses synced data is detected", async () => {
  const outcomes = new Set<string>();
  for (let seed = 1; seed <= 10 && outcomes.size === 0; seed += 1)
    await simulate(seed, { lies: true }).catch((error: unknown) => outcomes.add(String(error)));
  expect([...outcomes].join("\n")).toMatch(/R1: evt_\w+ was acknowledged and is not stored/);
});
