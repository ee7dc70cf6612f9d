import { parentPort, Worker, workerData } from "node:worker_threads";
import { siblingFile } from "../sibling-file.ts";

const LOOK_MS = 500;

/**
 * Ends this process when its parent has been gone for `graceMs`. In a thread of its own, since the case that matters is
 * a handler that never gives the main thread back: it may hold the lock that the next worker waits for.
 */
export function startWatchdog({ graceMs }: { graceMs: number }): void {
  new Worker(siblingFile(import.meta.url, "watchdog-thread"), { workerData: graceMs }).unref();
}

/** The thread's side. */
export function watchParent(nowMs: () => number): void {
  const graceMs: unknown = workerData;
  if (!parentPort || typeof graceMs !== "number") throw new Error("watchParent() runs in a thread.");
  const parent = process.ppid;
  let goneAtMs: number | undefined;
  setInterval(() => {
    if (process.ppid === parent) return;
    goneAtMs ??= nowMs();
    if (nowMs() - goneAtMs >= graceMs) process.kill(process.pid, "SIGKILL");
  }, LOOK_MS);
}
