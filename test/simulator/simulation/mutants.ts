import "../../../shared/node-version.ts";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { simulate } from "./simulation.ts";

/** What a planted bug has before it must be found. */
const SEEDS = 25;

// node test/simulator/simulation/mutants.ts FOLDER...: plays each copy of the source, and prints a line on each.
for (const folder of process.argv.slice(2)) {
  const { href } = pathToFileURL(join(folder, "test/simulator/simulation/simulation.ts"));
  const copy: { simulate: typeof simulate } = await import(href);
  process.stdout.write(`${await firstBroken(copy.simulate)}\n`);
}

async function firstBroken(play: typeof simulate): Promise<string> {
  for (let seed = 1; seed <= SEEDS; seed++) {
    try {
      await play(seed);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return `Seed ${seed}: ${message.replaceAll("\n", " ")}`;
    }
  }
  return `${SEEDS} seeds, no broken promise`;
}
