import { spawnSync } from "node:child_process";
import { cpus } from "node:os";
import { z } from "zod";
import { busyPlaySchema, busyRuns } from "./busy-runs.ts";
import type { Result } from "./execute.ts";
import { createNotebook } from "./notebook.ts";

/**
 * What a torture run found, what its figures depend on, and what is in the notebooks of the runs that go on over days:
 * the JSON report.
 */
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
  /** The whole runs of `--hogs`, by commit. */
  busy: z.array(z.object({ commit: z.string(), runs: z.int(), failed: z.int() })).default([]),
});

export type Report = z.infer<typeof reportSchema>;

export function createReport(options: {
  date: Date;
  seed: number;
  minutes: number;
  runs: readonly Result[];
}): Report {
  const { stdout } = spawnSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" });
  const commit = stdout.trim();
  return {
    date: options.date.toISOString(),
    commit,
    machine: { cores: cpus().length, model: cpus()[0]?.model ?? "unknown", node: process.version },
    seed: options.seed,
    minutes: options.minutes,
    runs: [...options.runs],
    busy: busyRuns(createNotebook("busy-runs", busyPlaySchema).read()),
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

function describe({ date, commit, machine, seed, minutes, runs, busy }: Report): string {
  const failed = runs.filter(({ ok }) => !ok).length;
  const where = `${String(machine.cores)} cores (${machine.model}), Node.js ${machine.node}`;
  const verdict = failed === 0 ? "all of them green" : `${String(failed)} of them failed`;
  const rows = runs.map(({ name, ok, seconds, figures }) => {
    const said = Object.entries(figures).map(([figure, value]) => `${figure} ${value}`);
    return [ok ? name : `**${name}: failed**`, `${seconds.toFixed(0)} s`, said.join("; ")];
  });
  return [
    `On ${date.slice(0, 10)}, at commit \`${commit}\`, on ${where}: ${String(runs.length)} runs, for which ${String(minutes)} minutes were given, with seed ${String(seed)}; ${verdict}.`,
    "",
    ...table(["Run", "Took", "Figures"], rows),
    "",
    ...(busy.length === 0 ? [] : describeBusy(busy)),
  ].join("\n");
}

function describeBusy(busy: Report["busy"]): string[] {
  const said = busy.map(
    ({ commit, runs, failed }) =>
      `${String(runs)} at \`${commit}\`, ${failed === 0 ? "all green" : `of which ${String(failed)} failed`}`,
  );
  return [`All tests beside four processes that want a core each: ${said.join("; ")}.`, ""];
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
