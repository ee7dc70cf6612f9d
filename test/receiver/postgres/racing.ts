import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** A worker in a process of its own, which writes a row for each event that it handles. */
export function startRacingWorker(url: string): ChildProcess {
  const program = fileURLToPath(new URL("./racing-worker.ts", import.meta.url));
  const child = spawn(process.execPath, [program, url], { stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}
