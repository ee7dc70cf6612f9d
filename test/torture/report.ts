import { spawnSync } from "node:child_process";
import { cpus } from "node:os";
import { z } from "zod";
import type { Result } from "./execute.ts";

/** What a torture run found, and what its figures depend on: the JSON report. */
export const reportSchema = z.object({
  date: z.iso.datetime(),
  commit: z.string(),
  machine: z.object({ cores: z.int(), model: z.string(), node: z.string() }),
  seed: z.int(),
  minutes: z.number(),
  runs: z.array(
    z.object({
      name: z.string(),
      ok: z.boolean(),
      seconds: z.number(),
      figures: z.record(z.string(), z.string()),
    }),
  ),
});

export type Report = z.infer<typeof reportSchema>;

export function createReport(options: {
  date: Date;
  seed: number;
  minutes: number;
  runs: readonly Result[];
}): Report {
  const { stdout } = spawnSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" });
  return {
    date: options.date.toISOString(),
    commit: stdout.trim(),
    machine: { cores: cpus().length, model: cpus()[0]?.model ?? "unknown", node: process.version },
    seed: options.seed,
    minutes: options.minutes,
    runs: [...options.runs],
  };
}

const BEGIN = "<!-- figures: npm run torture -- --figures REPORT.json -->";
const END = "<!-- end of figures -->";

/** The page with the report's figures in the place of those that it had; undefined when it has no place for them. */
export function withFigures(page: string, report: Report): string | undefined {
  const [before, rest] = split(page, BEGIN);
  const [, after] = split(rest, END);
  if (rest === "" || after === "") return undefined;
  return `${before}${BEGIN}\n\n${describe(report)}\n${END}${after}`;
}

function split(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + mark.length)];
}

function describe({ date, commit, machine, seed, minutes, runs }: Report): string {
  const failed = runs.filter(({ ok }) => !ok).length;
  const where = `${String(machine.cores)} cores (${machine.model}), Node.js ${machine.node}`;
  const verdict = failed === 0 ? "all of them green" : `${String(failed)} of them failed`;
  const rows = runs.map(({ name, ok, seconds, figures }) => {
    const said = Object.entries(figures).map(([figure, value]) => `${figure} ${value}`);
    return [ok ? name : `**${name}: failed**`, `${seconds.toFixed(0)} s`, said.join("; ")];
  });
  return [
    `On ${date.slice(0, 10)}, at commit \`${commit}\`, on ${where}: ${String(runs.length)} runs in ${String(minutes)} minutes with seed ${String(seed)}, ${verdict}.`,
    "",
    ...table(["Run", "Took", "Figures"], rows),
    "",
  ].join("\n");
}

/** As the formatter of the project sets tables. */
function table(head: string[], rows: string[][]): string[] {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const [first = [], ...others] = cells;
  return [line(first), line(widths.map((width) => "-".repeat(width))), ...others.map(line)];
}
