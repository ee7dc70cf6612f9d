import { Worker } from "node:worker_threads";

/**
 * Ends this process when its parent has been gone for so long, also one that a handler blocks: it may hold the lock that
 * the next worker waits for. In plain JavaScript, since a thread that reads TypeScript takes 18 MB more.
 */
export function startWatchdog(graceMs: number): void {
  // Asked here and now: by the time that the thread runs, the parent may be gone already.
  const workerData = { parentPid: process.ppid, graceMs };
  new Worker(WATCHDOG, { eval: true, workerData }).unref();
}

const WATCHDOG = `
  const { parentPid, graceMs } = require("node:worker_threads").workerData;
  let goneAtMs;
  setInterval(() => {
    if (process.ppid === parentPid) return;
    goneAtMs ??= performance.now();
    if (performance.now() - goneAtMs >= graceMs) process.kill(process.pid, "SIGKILL");
  }, 500);`;
