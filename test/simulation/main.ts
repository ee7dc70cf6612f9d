import "../../shared/node-version.ts";
import { parseArgs } from "node:util";
import { shrink } from "./shrink.ts";
import { simulate, STEPS } from "./simulation.ts";

const USAGE = `node test/simulation/main.ts [--seeds 100] [--from 1] [--steps 3,14,15]

  --steps LIST   plays these steps of the first seed alone, and prints what happens
`;

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "100" },
    from: { type: "string", default: "1" },
    steps: { type: "string" },
    help: { type: "boolean" },
  },
});
const from = Number(values.from);
const count = Number(values.seeds);
const startedMs = performance.now();
const totals = { events: 0, healed: 0, effects: 0, lives: 0 };
const say = (line: string): void => void process.stdout.write(line);

if (values.help === true) say(USAGE);
else if (values.steps !== undefined) await simulate(from, allBut(values.steps.split(",").map(Number)), say);
else for (let seed = from; seed < from + count; seed += 1) await play(seed);

const seconds = (performance.now() - startedMs) / 1_000;
if (values.help !== true)
  say(
    `figure: seeds = ${String(count)} in ${seconds.toFixed(1)} s, ${String(totals.events)} events, ${String(totals.healed)} healed, ${String(totals.effects)} effects, ${String(totals.lives)} processes, 0 broken promises\n`,
  );

async function play(seed: number): Promise<void> {
  try {
    const result = await simulate(seed);
    totals.events += result.events;
    totals.healed += result.healed;
    totals.effects += result.effects;
    totals.lives += result.lives;
  } catch (error) {
    say(`Seed ${String(seed)}: ${error instanceof Error ? (error.stack ?? "") : String(error)}\n`);
    const { kept, message } = await shrink(async (skip) => simulate(seed, skip), STEPS);
    say(`The smallest schedule that fails: ${message}\n`);
    say(`See it: node test/simulation/main.ts --from ${String(seed)} --steps ${kept.join(",")}\n`);
    process.exit(1);
  }
}

function allBut(steps: readonly number[]): Set<number> {
  return new Set(Array.from({ length: STEPS }, (_, step) => step).filter((step) => !steps.includes(step)));
}
