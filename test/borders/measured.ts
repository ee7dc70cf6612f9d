import { readdirSync, readFileSync } from "node:fs";

/** What a Linux process uses now, and the peak of its memory. */
export function usageOf(pid: number): { descriptors: number; peakMegabytes: number } {
  const status = readFileSync(`/proc/${String(pid)}/status`, "utf8");
  const peakKilobytes = Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]);
  return {
    descriptors: readdirSync(`/proc/${String(pid)}/fd`).length,
    peakMegabytes: Math.round(peakKilobytes / 1_024),
  };
}

/** The system's limit for one process. Node.js raises its soft limit to the hard one at its start. */
export function mostDescriptors(): number {
  const limits = readFileSync("/proc/self/limits", "utf8");
  return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Infinity);
}

/** Calls `ask` repeatedly while `attack` runs; returns the duration of the slowest call. */
export async function slowestDuring(attack: () => Promise<void>, ask: () => Promise<void>): Promise<number> {
  const going = { on: true };
  const attacked = attack().finally(() => (going.on = false));
  let slowestMs = 0;
  do {
    const startedAtMs = performance.now();
    await ask();
    slowestMs = Math.max(slowestMs, performance.now() - startedAtMs);
  } while (going.on);
  await attacked;
  return Math.round(slowestMs);
}

/** For the table of the long runs. */
export function figure(name: string, value: string): void {
  process.stdout.write(`figure: ${name} = ${value}\n`);
}
