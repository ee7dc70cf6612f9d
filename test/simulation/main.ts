import "../../shared/node-version.ts";
import { parseArgs } from "node:util";
import { shrink } from "./shrink.ts";
import { simulate, STEPS } from "./simulation.ts";

// node --import tsx test/simulation/main.ts --seeds 1000 [--from 1]
const { values } = parseArgs({ options: { seeds: { type: "string" }, from: { type: "string" } } });
const from = Number(values.from ?? 1);
const count = Number(values.seeds ?? 100);
const startedMs = performance.now();
const totals = { events: 0, effects: 0, lives: 0 };

for (let seed = from; seed < from + count; seed += 1) {
  try {
    const result = await simulate(seed);
    totals.events += result.events;
    totals.effects += result.effects;
    totals.lives += result.lives;
  } catch (error) {
    process.stdout.write(
      `Seed ${String(seed)}: ${error instanceof Error ? (error.stack ?? "") : String(error)}\n`,
    );
    const { kept, message } = await shrink(async (skip) => simulate(seed, skip), STEPS);
    process.stdout.write(`The smallest schedule that fails has the steps ${kept.join(", ")}: ${message}\n`);
    process.stdout.write(
      `Again: node --import tsx test/simulation/main.ts --seeds 1 --from ${String(seed)}\n`,
    );
    process.exit(1);
  }
}
const seconds = (performance.now() - startedMs) / 1_000;
process.stdout.write(
  `figure: seeds = ${String(count)} in ${seconds.toFixed(1)} s, ${String(totals.events)} events, ${String(totals.effects)} effects, ${String(totals.lives)} processes, 0 broken promises\n`,
);
