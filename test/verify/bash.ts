import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * What each of `scripts` wrote to stdout, all run by one bash, in turn, as if they had been pasted into it after
 * `before`.
 */
export async function runInBash(
  scripts: readonly string[],
  env: Record<string, string>,
  before = "",
): Promise<string[]> {
  const end = "-- end of script --";
  const folder = mkdtempSync(join(tmpdir(), "bash-"));
  // From a file: a pipe is read byte by byte, lest a command of the script should want the rest of it.
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

/** For a script's beginning: time stands still at `nowSeconds`, but for whoever waits for the next second. */
export function standingDate(nowSeconds: number): string {
  return `date() { echo ${nowSeconds}; }\nsleep() { S=over; }`;
}
