import { isMainThread } from "node:worker_threads";

/** The sampling interval: a reported time is one turn of the event loop plus at most this much. */
const EVERY_MS = 1;

/**
 * Loaded into a program (`--import`): at each SIGWINCH it writes the longest turn of the main thread's event loop since
 * the last SIGWINCH, in milliseconds of processor time. Time in which other programs had the processor does not
 * count, nor does the number of turns.
 */
if (isMainThread) {
  let lookedAt = process.threadCpuUsage();
  let longestMs = 0;
  setInterval(() => {
    const { user, system } = process.threadCpuUsage(lookedAt);
    lookedAt = process.threadCpuUsage();
    longestMs = Math.max(longestMs, (user + system) / 1_000);
  }, EVERY_MS).unref();
  process.on("SIGWINCH", () => {
    process.stdout.write(`longest turn: ${longestMs.toFixed(1)} ms\n`);
    longestMs = 0;
  });
}
