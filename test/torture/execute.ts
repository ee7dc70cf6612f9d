import { spawn } from "node:child_process";
import { createWriteStream, readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Run } from "./run.ts";

/** What became of a run, and the figures that it printed as `figure: NAME = VALUE`. */
export interface Result {
  name: string;
  ok: boolean;
  seconds: number;
  figures: Record<string, string>;
  /** Everything that it printed. */
  logFile: string;
}

const HEARTBEAT_MS = 30_000;
const FIGURE = /^figure: (.+) = (.+)$/gm;
const COUNT_OF_TESTS = /^\s*Tests\s+(.+?)\s*$/m;

/**
 * Plays one run in a process of its own, in which `SEED` says where everything drawn begins. What it prints goes to a
 * file, since there is much of it; `onProgress` hears twice a minute how long it has been going.
 */
export async function execute(
  run: Run,
  options: { size: number; seed: number; directory: string; onProgress: (seconds: number) => void },
): Promise<Result> {
  const { size, seed, directory } = options;
  const logFile = join(directory, `${run.name.replaceAll(/[^a-z0-9]+/gi, "-")}.log`);
  const log = createWriteStream(logFile);
  const words =
    "files" in run
      ? ["node_modules/vitest/vitest.mjs", "run", "--fileParallelism=false", ...run.files]
      : [...process.execArgv, run.script, ...(run.arguments?.(size, seed) ?? [])];
  const environment = "files" in run ? run.environment?.(size) : undefined;
  const startedAtMs = performance.now();
  const seconds = (): number => (performance.now() - startedAtMs) / 1_000;
  const child = spawn(process.execPath, words, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1", LONG_RUNS: "1", SEED: String(seed), ...environment },
  });
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  const heartbeat = setInterval(() => {
    options.onProgress(seconds());
  }, HEARTBEAT_MS);
  const stop = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.once("SIGINT", stop).once("SIGTERM", stop);
  const status = await new Promise<number | null>((resolve) => child.once("close", resolve));
  process.off("SIGINT", stop).off("SIGTERM", stop);
  clearInterval(heartbeat);
  await new Promise<void>((resolve) => log.end(resolve));

  const printed = stripVTControlCharacters(readFileSync(logFile, "utf8"));
  const figures = Object.fromEntries([...printed.matchAll(FIGURE)].map(([, name, value]) => [name, value]));
  const tests = COUNT_OF_TESTS.exec(printed)?.[1];
  return {
    name: run.name,
    ok: status === 0,
    seconds: seconds(),
    figures: tests === undefined ? figures : { tests, ...figures },
    logFile,
  };
}
