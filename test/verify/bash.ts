import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Runs `scripts` in one bash, in turn, as if they had been pasted into it after `before`; returns what each wrote to
 * stdout.
 */
export async function runInBash(
  scripts: readonly string[],
  env: Record<string, string>,
  before = "",
): Promise<string[]> {
  const end = "-- end of script --";
  const folder = mkdtempSync(join(tmpdir(), "bash-"));
  // From a file: bash reads a pipe byte by byte, because a command in it might read the rest.
  const file = join(folder, "script");
  writeFileSync(file, `${before}\n${scripts.map((script) => `${script}\necho '${end}'\n`).join("")}`);
  const bash = spawn("bash", ["--noprofile", "--norc", file], {
    env: { PATH: process.env["PATH"] ?? "", HOME: folder, ...env },
    stdio: ["ignore", "pipe", "ignore"],
  });
  let output = "";
  bash.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  await new Promise((resolve) => bash.once("close", resolve));
  rmSync(folder, { recursive: true });
  return output.split(`${end}\n`).slice(0, -1);
}

/** Lines for a script's beginning: time stands still at `nowSeconds`, except for a wait for the next second. */
export function standingDate(nowSeconds: number): string {
  return `date() { echo ${nowSeconds}; }\nsleep() { S=over; }`;
}
