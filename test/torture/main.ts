import { spawn } from "node:child_process";
import { createWriteStream, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, stripVTControlCharacters } from "node:util";
import { RUNS, type Run } from "./runs.ts";

/** `npm run torture`: the long runs, each in its share of the time, and a table of what they printed. */

const USAGE = `Usage: npm run torture -- [--minutes N] [--seed N] [--only WORDS] [--list]

  --minutes N   how long all of them may take together on two cores (default 30)
  --seed N      where everything that is drawn begins, to repeat a run (default: from the time)
  --only WORDS  the runs whose name contains these words
  --list        prints the runs with their share of the time, and starts none
`;
/** The share of the minutes reserved for process starts and slow machines. */
const RESERVE = 0.07;
const SMALLEST_SIZE = 0.02;
const TAIL_LINES = 40;
const FIGURE = /^figure: (.+) = (.+)$/gm;
const COUNT_OF_TESTS = /^\s*Tests\s+(.+?)\s*$/m;

type Planned = { run: Run; size: number };

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "30" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      only: { type: "string", default: "" },
      list: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
  const chosen = RUNS.filter(({ name }) => name.includes(values.only));
  if (values.help || !(minutes > 0) || !Number.isSafeInteger(seed) || chosen.length === 0) {
    process[values.help ? "stdout" : "stderr"].write(USAGE);
    return values.help ? 0 : 2;
  }
  const planned = plan(chosen, minutes);
  if (values.list) {
    for (const { run, size } of planned)
      console.log(`${run.name.padEnd(40)} ${(run.minutes * size).toFixed(1).padStart(5)} min`);
    return 0;
  }
  console.log(`${planned.length} runs in about ${minutes} min, seed ${seed}`);
  const directory = mkdtempSync(join(tmpdir(), "torture-"));
  const of = (...paces: Run["pace"][]) => planned.filter(({ run }) => paces.includes(run.pace));
  const failed: string[] = [];
  const play = async (one: Planned): Promise<void> => {
    if (!(await execute(one, seed, directory))) failed.push(one.run.name);
  };
  for (const one of of("alone")) await play(one);
  const beside = Promise.all(of("beside").map(play));
  for (const one of of(undefined, "fixed")) await play(one);
  await beside;
  for (const name of failed)
    console.log(`Again: npm run torture -- --seed ${seed} --minutes ${minutes} --only "${name}"`);
  return failed.length === 0 ? 0 : 1;
}

/** Gives each run its share of `minutes`: the fixed ones what they need, the others equal shares of the rest. */
function plan(runs: readonly Run[], minutes: number): Planned[] {
  const usable = minutes * (1 - RESERVE);
  const sum = (all: readonly Run[]) => all.reduce((total, run) => total + run.minutes, 0);
  const flexible = sum(runs.filter(({ pace }) => pace === undefined));
  const fixed = sum(runs.filter(({ pace }) => pace === "fixed"));
  const alone = sum(runs.filter(({ pace }) => pace === "alone"));
  const size = flexible === 0 ? 1 : Math.max(SMALLEST_SIZE, (usable - fixed - alone) / flexible);
  const together = flexible + fixed === 0 ? usable : flexible * size + fixed;
  return runs.map((run) => {
    if (run.pace === "beside") return { run, size: together / run.minutes };
    return { run, size: run.pace === undefined ? size : 1 };
  });
}

/** Starts one run in a separate process, with its output in a file, and prints the result. */
async function execute({ run, size }: Planned, seed: number, directory: string): Promise<boolean> {
  const logFile = join(directory, `${run.name.replaceAll(/[^a-z0-9]+/gi, "-")}.log`);
  const log = createWriteStream(logFile);
  const words =
    "files" in run
      ? ["node_modules/vitest/vitest.mjs", "run", "--fileParallelism=false", ...run.files]
      : [...process.execArgv, run.script, ...(run.arguments?.(size, seed) ?? [])];
  const environment = "files" in run ? run.environment?.(size) : undefined;
  const startedAtMs = performance.now();
  const child = spawn(process.execPath, words, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1", LONG_RUNS: "1", SEED: String(seed), ...environment },
  });
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  const status = await new Promise<number | null>((resolve) => child.once("close", resolve));
  await new Promise<void>((resolve) => log.end(resolve));

  const printed = stripVTControlCharacters(readFileSync(logFile, "utf8"));
  const tests = COUNT_OF_TESTS.exec(printed)?.[1];
  const figures = [...printed.matchAll(FIGURE)].map(([, name, value]) => `${name} ${value}`);
  const said = [...(tests === undefined ? [] : [`tests ${tests}`]), ...figures].join("; ");
  const seconds = ((performance.now() - startedAtMs) / 1_000).toFixed(0).padStart(6);
  console.log(`${status === 0 ? "✓" : "✗"} ${run.name.padEnd(40)} ${seconds} s  ${said}`);
  if (status !== 0)
    console.log(`${printed.split("\n").slice(-TAIL_LINES).join("\n")}\nAll of it: ${logFile}`);
  return status === 0;
}

process.exitCode = await main();
