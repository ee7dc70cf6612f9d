import { systemClock } from "../clock.ts";

const LOOK_MS = 500;

/**
 * A thread of the handlers' process, which it ends when its parent has been gone for `graceMs`: the case that matters is
 * a handler that never gives the main thread back. It may hold the lock that the next worker waits for.
 */
const [parentPid, graceMs] = process.argv.slice(2).map(Number);
if (parentPid === undefined || graceMs === undefined)
  throw new Error("This runs in a thread, given two numbers.");
let goneAtMs: number | undefined;
setInterval(() => {
  if (process.ppid === parentPid) return;
  goneAtMs ??= systemClock.monotonicMs();
  if (systemClock.monotonicMs() - goneAtMs >= graceMs) process.kill(process.pid, "SIGKILL");
}, LOOK_MS);
