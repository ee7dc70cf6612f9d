import { spawnSync } from "node:child_process";
import { cpus } from "node:os";
import { z } from "zod";
import { busyPlaySchema, busyRuns } from "./busy-runs.ts";
import type { Result } from "./execute.ts";
import { createNotebook } from "./notebook.ts";
import { lists } from "./planted/lists.ts";
import { createRecord } from "./planted/record.ts";
import { sharesOf } from "./planted/table.ts";

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
  /** What `--mutants` has found about the bugs as they are planted now, by list. */
  planted: z
    .array(z.object({ list: z.string(), bugs: z.int(), tried: z.int(), caught: z.int() }))
    .default([]),
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
    planted: sharesOf(lists, createRecord({ commit, forget: false }).find),
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

function describe({ date, commit, machine, seed, minutes, runs, planted, busy }: Report): string {
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
    ...(planted.length === 0 ? [] : describePlanted(planted)),
    ...(busy.length === 0 ? [] : describeBusy(busy)),
  ].join("\n");
}

function describePlanted(planted: Report["planted"]): string[] {
  const total = (of: "bugs" | "tried" | "caught"): number => planted.reduce((sum, one) => sum + one[of], 0);
  const share = (caught: number, tried: number): string =>
    tried === 0 ? "" : `${String(Math.floor((100 * caught) / tried))} %`;
  const rows = planted.map(({ list, bugs, tried, caught }) => [
    list,
    String(bugs),
    String(tried),
    String(caught),
    share(caught, tried),
  ]);
  const [bugs, tried, caught] = [total("bugs"), total("tried"), total("caught")];
  return [
    `Of ${String(bugs)} planted bugs, ${String(tried)} were tried with the code and tests as they are now, and ${String(caught)} were caught (${share(caught, tried)}):`,
    "",
    ...table(["List", "Bugs", "Tried", "Caught", "Share"], rows),
    "",
  ];
}

function describeBusy(busy: Report["busy"]): string[] {
  const said = busy.map(
    ({ commit, runs, failed }) =>
      `${String(runs)} at \`${commit}\`, ${failed === 0 ? "all green" : `of which ${String(failed)} failed`}`,
  );
  return [`All tests beside two processes that want a core each: ${said.join("; ")}.`, ""];
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
