import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execute, type Result } from "./execute.ts";
import { isWrongUsage, parseOptions, USAGE } from "./options.ts";
import { plan, type Planned } from "./plan.ts";
import { createReport, reportSchema, withFigures, type Report } from "./report.ts";
import { RUNS } from "./runs.ts";

const TAIL_LINES = 40;
const PAGE = "docs/reliability.md";

/** `npm run torture`: the long runs one after the other, each in its share of the time, and a table of what came out. */
async function main(): Promise<number> {
  if (process.argv.includes("--help")) {
    process.stdout.write(USAGE);
    return 0;
  }
  const options = parseOptions(process.argv.slice(2), Date.now());
  if (typeof options === "string") {
    process.stderr.write(`${options}\n\n${USAGE}`);
    return 2;
  }
  if (options.figures !== undefined) return writeFigures(options.figures);
  const { only = "", minutes, seed } = options;
  const chosen = RUNS.filter(({ name }) => name.includes(only));
  const planned = plan(chosen.length === 0 ? RUNS : chosen, minutes);
  if (options.list || chosen.length === 0) {
    if (!options.list) process.stderr.write(`No run is called "${only}". These are there:\n`);
    process.stdout.write([...planned.inTurn, ...planned.beside].map(listed).join(""));
    return options.list ? 0 : 2;
  }

  const directory = mkdtempSync(join(tmpdir(), "torture-"));
  const count = planned.inTurn.length + planned.beside.length;
  say(`${String(count)} runs in about ${planned.minutes.toFixed(0)} min, seed ${String(seed)}`);
  if (planned.minutes > minutes) say("That is more than was asked for: some take their time whatever it is.");
  const results: Result[] = [];
  let began = 0;
  const play = async ({ run, size, minutes: share }: Planned): Promise<void> => {
    const place = `[${String((began += 1))}/${String(count)}] ${run.name}`;
    say(place);
    const onProgress = (seconds: number): void => {
      say(`${place}: ${seconds.toFixed(0)} s of about ${(share * 60).toFixed(0)} s`);
    };
    const result = await execute(run, { size, seed, directory, onProgress });
    results.push(result);
    say(`${place}: ${result.ok ? "green" : "failed"}`);
    if (!result.ok) process.stdout.write(tailOf(result.logFile));
  };

  let beside: Promise<void[]> | undefined;
  for (const one of planned.inTurn) {
    if (one.run.pace !== "alone") beside ??= Promise.all(planned.beside.map(play));
    await play(one);
  }
  await (beside ?? Promise.all(planned.beside.map(play)));

  process.stdout.write(`\n${table(results)}`);
  const report = createReport({ date: new Date(), seed, minutes, runs: results });
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(report, undefined, 2)}\n`);
  const failed = results.find(({ ok }) => !ok);
  if (!failed) return 0;
  say(
    `Again: npm run torture -- --seed ${String(seed)} --minutes ${String(minutes)} --only "${failed.name}"`,
  );
  return 1;
}

function listed({ run, minutes }: Planned): string {
  return `${run.name.padEnd(48)} ${minutes.toFixed(1).padStart(5)} min ${run.pace ?? ""}`.trimEnd() + "\n";
}

/** Puts the figures of a report into the page. */
function writeFigures(file: string): number {
  const report = readReport(file);
  if (report === undefined) {
    process.stderr.write(`--figures ${file}: this is no report that --json wrote.\n`);
    return 2;
  }
  const page = withFigures(readFileSync(PAGE, "utf8"), report);
  if (page === undefined) {
    process.stderr.write(`${PAGE} has no place for figures.\n`);
    return 2;
  }
  writeFileSync(PAGE, page);
  return 0;
}

function readReport(file: string): Report | undefined {
  try {
    return reportSchema.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return undefined;
  }
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

try {
  if (process.argv.includes("--planted")) await import("./planted/main.ts");
  else if (process.argv.includes("--hogs")) await import("./hogs.ts");
  else process.exitCode = await main();
} catch (error) {
  if (!isWrongUsage(error)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
