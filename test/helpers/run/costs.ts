import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import type { Vitest } from "vitest/node";

const SLOWEST = 10;
/** Ticks per second of the clock in which Linux reports the CPU time of a process. */
const TICKS_A_SECOND = 100;
/**
 * Seconds of processor time that a start of Node.js takes on a usual machine; the suite starts hundreds of processes.
 * With 0.029 the totals of two machines for all tests (404 and 1,689 seconds) would be equal: this is a little stricter.
 */
const USUAL_START_SECONDS = 0.036;
const STARTS = 10;

/**
 * Prints the slowest test files and, on Linux, the processor time of the whole run. More than CPU_BUDGET_SECONDS fail the
 * run. The cost of a process differs by a factor of three between machines, so the seconds are scaled down on a machine
 * where a start of Node.js takes longer than usual.
 *
 * @param alsoOf processes of the run that are no children of this one
 */
export function reportCosts(vitest: Vitest, { alsoOf }: { alsoOf: readonly number[] }): void {
  const files = vitest.state.getTestModules().map((file) => ({
    name: relative(process.cwd(), file.moduleId),
    seconds: file.diagnostic().duration / 1_000,
  }));
  if (files.length <= SLOWEST) return;
  const slowest = files.toSorted((one, other) => other.seconds - one.seconds).slice(0, SLOWEST);
  const lines = slowest.map(({ name, seconds }) => `${seconds.toFixed(1).padStart(6)} s  ${name}`);
  process.stdout.write(`\nThe slowest files:\n${lines.join("\n")}\n`);

  const seconds = secondsAtWork([process.pid, ...alsoOf]);
  if (seconds === undefined) return;
  const slowness = Math.max(1, secondsOfAStart() / USUAL_START_SECONDS);
  const usual = seconds / slowness;
  const budget = process.env["CPU_BUDGET_SECONDS"];
  process.stdout.write(
    `CPU seconds of everything: ${seconds.toFixed(0)}` +
      (slowness < 1.1
        ? ""
        : `, where a process costs ${slowness.toFixed(1)} times the usual: ${usual.toFixed(0)}`) +
      `${budget === undefined ? "" : `, of at most ${budget}`}\n`,
  );
  if (budget === undefined || usual <= Number(budget)) return;
  process.stdout.write("That is over the budget: make the slowest cheaper, or call them `*.slow.test.ts`.\n");
  process.exitCode = 1;
}

/** Measures the processor time of a start of Node.js, here and now. */
function secondsOfAStart(): number {
  const before = read(process.pid)?.ticks ?? 0;
  for (let start = 0; start < STARTS; start += 1) spawnSync(process.execPath, ["--eval", "0"]);
  return ((read(process.pid)?.ticks ?? 0) - before) / TICKS_A_SECOND / STARTS;
}

/**
 * The processor time of these processes and all their descendants, including ended ones that a parent waited for.
 * Undefined if the system doesn't report it.
 */
function secondsAtWork(roots: readonly number[]): number | undefined {
  const all = new Map<number, { parent: number; ticks: number }>();
  try {
    for (const name of readdirSync("/proc")) {
      const pid = Number(name);
      const found = Number.isInteger(pid) ? read(pid) : undefined;
      if (found !== undefined) all.set(pid, found);
    }
  } catch {
    return undefined;
  }
  const children = Map.groupBy(all.keys(), (pid) => all.get(pid)?.parent);
  const ticksOf = (pid: number): number =>
    (children.get(pid) ?? []).reduce((sum, child) => sum + ticksOf(child), all.get(pid)?.ticks ?? 0);
  return roots.reduce((sum, root) => sum + ticksOf(root), 0) / TICKS_A_SECOND;
}

/** The parent and the ticks of a process, its own and those of children it waited for: see proc_pid_stat(5). */
function read(pid: number): { parent: number; ticks: number } | undefined {
  try {
    const line = readFileSync(`/proc/${String(pid)}/stat`, "utf8");
    const [, parent, ...fields] = line
      .slice(line.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    const ticks = fields.slice(9, 13).reduce((sum, value) => sum + value, 0);
    return { parent: parent ?? 0, ticks };
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}
