import "../../tools/node-version.ts";
import { parseArgs } from "node:util";
import { simulate } from "./simulation.ts";

/** The long run: `node test/simulation/main.ts [--seeds 100] [--from 1] [--print]`. */
const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "100" },
    from: { type: "string", default: "1" },
    print: { type: "boolean", default: false },
  },
});
const from = Number(values.from);
const count = Number(values.seeds);
const startedMs = performance.now();
const totals = { events: 0, effects: 0, processes: 0 };

for (let seed = from; seed < from + count; seed += 1) {
  try {
    const print = values.print ? (line: string) => void process.stdout.write(line) : undefined;
    const result = await simulate(seed, print ? { print } : {});
    totals.events += result.events;
    totals.effects += result.effects;
    totals.processes += result.processes;
  } catch (error) {
    console.log(`Seed ${seed}: ${error instanceof Error ? (error.stack ?? "") : String(error)}`);
    console.log(`See it: node test/simulation/main.ts --seeds 1 --from ${seed} --print`);
    process.exit(1);
  }
}
const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
const { events, effects, processes } = totals;
console.log(
  `figure: seeds = ${count} in ${seconds} s, ${events} events, ${effects} effects, ${processes} processes, 0 broken promises`,
);
