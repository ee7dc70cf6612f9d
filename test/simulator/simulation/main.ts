import "../../../tools/node-version.ts";
import { parseArgs } from "node:util";
import { simulate } from "./simulation.ts";

// node test/simulator/simulation/main.ts --seeds 1000 [--from 1]
const { values } = parseArgs({ options: { seeds: { type: "string" }, from: { type: "string" } } });
const from = Number(values.from ?? 1);
const count = Number(values.seeds ?? 1_000);
const startedMs = performance.now();
const totals = { attempts: 0, deliveries: 0, lives: 0, steps: 0 };

for (let seed = from; seed < from + count; seed++) {
  try {
    const result = await simulate(seed);
    totals.attempts += result.attempts;
    totals.deliveries += result.deliveries;
    totals.lives += result.lives;
    totals.steps += result.steps;
  } catch (error) {
    process.stdout.write(`Seed ${seed}: ${error instanceof Error ? error.message : String(error)}\n`);
    process.stdout.write(`Again: node test/simulator/simulation/main.ts --seeds 1 --from ${seed}\n`);
    if (count === 1) throw error;
    process.exit(1);
  }
}
const seconds = (performance.now() - startedMs) / 1000;
process.stdout.write(
  `figure: seeds = ${count} of 40 h in ${seconds.toFixed(1)} s, ${totals.deliveries} deliveries, ${totals.attempts} attempts, ${totals.lives} lives, 0 broken promises\n`,
);
