import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testsOutcome } from "../tests-outcome.ts";
import type { PlantedBug } from "./planted-bug.ts";

/**
 * `caught`: a test failed. `survived`: all passed. `does not fit`: the bug can't be judged any more, because its text no
 * longer stands in the file, the tests fail without it too, or none ran.
 */
export type Verdict = "caught" | "survived" | "does not fit";

/** Tests of a bug that makes something wait for ever are ended; that is a failure like any other. */
const LONGEST_MS = 5 * 60_000;
/** On a machine that others keep busy, it is this many times what they took without the bug. */
const LONGEST_RATIO = 5;

/** Whether tests pass when nothing is planted, and how long they take then: kept for all fields together. */
export type Sound = Map<string, Promise<{ passed: boolean; ms: number }>>;

/** A copy of the project in which bugs are planted one at a time, so that nobody's work is touched. */
export function createField(sound: Sound): {
  plant: (bug: PlantedBug) => Promise<Verdict>;
  clear: () => void;
} {
  const directory = mkdtempSync(join(tmpdir(), "planted-"));
  const files = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
    .toString()
    .split("\0")
    .filter((file) => existsSync(file));
  for (const file of files) cpSync(file, join(directory, file));
  // For tests that look at whatever is under version control.
  execFileSync("git", ["init", "--quiet"], { cwd: directory });
  symlinkSync(join(process.cwd(), "node_modules"), join(directory, "node_modules"));
  const environment = { ...process.env, NO_COLOR: "1", TEST_ALL: "1", SIMULATION_SEEDS: "100" };
  // The run that plants bugs is a long one; the tests are not.
  for (const name of ["LONG_RUNS", "SEED"]) Reflect.deleteProperty(environment, name);

  async function run(tests: string[], longestMs: number): Promise<ReturnType<typeof testsOutcome>> {
    const child = spawn(process.execPath, ["node_modules/vitest/vitest.mjs", "run", "--bail=1", ...tests], {
      cwd: directory,
      stdio: ["ignore", "pipe", "ignore"],
      env: environment,
      // A group of its own, so that what tests started ends with them.
      detached: true,
    });
    let printed = "";
    child.stdout.on("data", (bytes: Buffer) => (printed += bytes.toString()));
    const timer = setTimeout(() => end(child.pid), longestMs);
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    clearTimeout(timer);
    end(child.pid);
    return testsOutcome(code, printed);
  }

  async function runSound(tests: string[]): Promise<{ passed: boolean; ms: number }> {
    const startedAtMs = performance.now();
    const outcome = await run(tests, LONGEST_RATIO * LONGEST_MS);
    return { passed: outcome === "passed", ms: performance.now() - startedAtMs };
  }

  return {
    plant: async ({ file, find, replace, tests }) => {
      const path = join(directory, file);
      const original = existsSync(path) ? readFileSync(path, "utf8") : "";
      if (original.split(find).length !== 2) return "does not fit";
      const key = tests.join(" ");
      const without = sound.get(key) ?? runSound(tests);
      sound.set(key, without);
      const { passed, ms } = await without;
      if (!passed) return "does not fit";
      writeFileSync(
        path,
        original.replace(find, () => replace),
      );
      try {
        const outcome = await run(tests, Math.max(LONGEST_MS, LONGEST_RATIO * ms));
        if (outcome === "passed") return "survived";
        return outcome === "failed" ? "caught" : "does not fit";
      } finally {
        writeFileSync(path, original);
      }
    },
    clear: () => {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function end(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
