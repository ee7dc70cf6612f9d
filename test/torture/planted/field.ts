import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PlantedBug } from "./planted-bug.ts";
import type { Verdict } from "./record.ts";
import { testsOutcome } from "./tests-outcome.ts";

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
    .filter((file) => file !== "");
  for (const file of files) cpSync(file, join(directory, file));
  // For tests that look at whatever is under version control.
  execFileSync("git", ["init", "--quiet"], { cwd: directory });
  symlinkSync(join(process.cwd(), "node_modules"), join(directory, "node_modules"));

  async function run(tests: string[], longestMs: number): Promise<ReturnType<typeof testsOutcome>> {
    const child = spawn(process.execPath, ["node_modules/vitest/vitest.mjs", "run", "--bail=1", ...tests], {
      cwd: directory,
      stdio: ["ignore", "pipe", "ignore"],
      env: { ...process.env, NO_COLOR: "1", SIMULATION_SEEDS: "100" },
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
      const original = readFileSync(path, "utf8");
      if (original.split(find).length !== 2) return "misfit";
      const key = tests.join(" ");
      const without = sound.get(key) ?? runSound(tests);
      sound.set(key, without);
      const { passed, ms } = await without;
      if (!passed) return "misfit";
      writeFileSync(
        path,
        original.replace(find, () => replace),
      );
      try {
        const outcome = await run(tests, Math.max(LONGEST_MS, LONGEST_RATIO * ms));
        if (outcome === "passed") return "survived";
        return outcome === "failed" ? "caught" : "misfit";
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
