import { Worker } from "node:worker_threads";
import { siblingFile } from "../sibling-file.ts";

const LOOK_MS = 500;

/**
 * Ends this process when its parent has been gone for `graceMs`. In a thread of its own, since the case that matters is
 * a handler that never gives the main thread back: it may hold the lock that the next worker waits for.
 */
export function startWatchdog({ graceMs }: { graceMs: number }): void {
  // Asked here and now: by the time that the thread runs, the parent may be gone already.
  const argv = [process.ppid, graceMs];
  new Worker(siblingFile(import.meta.url, "watchdog-thread"), { argv }).unref();
}

/** The thread's side. */
export function watchParent(parentPid: number, graceMs: number, nowMs: () => number): void {
  let goneAtMs: number | undefined;
  setInterval(() => {
    if (process.ppid === parentPid) return;
    goneAtMs ??= nowMs();
    if (nowMs() - goneAtMs >= graceMs) process.kill(process.pid, "SIGKILL");
  }, LOOK_MS);
}
