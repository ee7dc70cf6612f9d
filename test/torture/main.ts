import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { execute, type Result } from "./execute.ts";
import { parseOptions, USAGE } from "./options.ts";
import { runs as ofAdoption } from "./adoption.ts";
import { runs as ofBorders } from "./borders.ts";
import { runs as ofReceiver } from "./receiver.ts";
import { runs as ofSimulator } from "./simulator.ts";
import { runs as ofVerify } from "./verify.ts";

const RUNS = [...ofReceiver, ...ofSimulator, ...ofVerify, ...ofBorders, ...ofAdoption];
const TAIL_LINES = 40;

/** `npm run torture`: the long runs one after the other, each in its share of the time, and a table of what came out. */
async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2), Date.now());
  if (typeof options === "string") {
    process.stderr.write(`${options}\n\n${USAGE}`);
    return 2;
  }
  const chosen = RUNS.filter(({ name }) => name.includes(options.only ?? ""));
  if (options.list || chosen.length === 0) {
    if (!options.list) process.stderr.write(`No run is called "${options.only ?? ""}". These are there:\n`);
    process.stdout.write(
      RUNS.map(({ name, minutes }) => `${name.padEnd(28)} ${String(minutes)} min\n`).join(""),
    );
    return options.list ? 0 : 2;
  }

  const directory = mkdtempSync(join(tmpdir(), "torture-"));
  const size = options.minutes / chosen.reduce((sum, { minutes }) => sum + minutes, 0);
  say(`${String(chosen.length)} runs in about ${String(options.minutes)} min, seed ${String(options.seed)}`);
  const results: Result[] = [];
  for (const run of chosen) {
    const place = `[${String(results.length + 1)}/${String(chosen.length)}] ${run.name}`;
    say(place);
    const onProgress = (seconds: number): void => {
      say(`${place}: ${seconds.toFixed(0)} s of about ${(run.minutes * size * 60).toFixed(0)} s`);
    };
    const result = await execute(run, { size, seed: options.seed, directory, onProgress });
    results.push(result);
    if (!result.ok) process.stdout.write(tailOf(result.logFile));
  }

  process.stdout.write(`\n${table(results)}`);
  const report = { ...circumstances(), seed: options.seed, minutes: options.minutes, runs: results };
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(report, undefined, 2)}\n`);
  const failed = results.filter(({ ok }) => !ok);
  if (failed.length === 0) return 0;
  const [{ name }] = failed as [Result];
  say(
    `Again: npm run torture -- --seed ${String(options.seed)} --minutes ${String(options.minutes)} --only "${name}"`,
  );
  return 1;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function tailOf(file: string): string {
  return `${readFileSync(file, "utf8").split("\n").slice(-TAIL_LINES).join("\n")}\nAll of it: ${file}\n`;
}

function table(results: Result[]): string {
  const lines = results.map(({ name, ok, seconds, figures }) => {
    const said = Object.entries(figures).map(([figure, value]) => `${figure} ${value}`);
    return `${ok ? "✓" : "✗"} ${name.padEnd(28)} ${seconds.toFixed(0).padStart(6)} s  ${said.join("; ")}\n`;
  });
  return lines.join("");
}

/** What figures depend on. */
function circumstances(): Record<string, unknown> {
  const { stdout } = spawnSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" });
  return {
    date: new Date().toISOString(),
    commit: stdout.trim(),
    machine: { cores: cpus().length, model: cpus()[0]?.model, node: process.version },
  };
}

if (process.argv.includes("--mutants")) await import("./planted/main.ts");
else process.exitCode = await main();
