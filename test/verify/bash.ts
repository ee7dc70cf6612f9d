import { spawn } from "node:child_process";

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
  const bash = spawn("bash", ["--noprofile", "--norc"], {
    env: { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent", ...env },
    stdio: ["pipe", "pipe", "ignore"],
  });
  let output = "";
  bash.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  bash.stdin.end(`${before}\n` + scripts.map((script) => `${script}\necho '${end}'\n`).join(""));
  await new Promise((resolve) => bash.once("close", resolve));
  return output.split(`${end}\n`).slice(0, -1);
}
