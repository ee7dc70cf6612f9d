import { readFileSync, readdirSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { startReceiver } from "./receiver-process.ts";
import type { Report } from "./report.ts";

const SECRET = "whsec_bench_0123456789abcdef";

/** Begins after the start has settled, and is long, since the idle receiver works only from time to time. */
const SETTLING_MS = 25_000;
const MEASURED_MS = 240_000;
const DAY_MS = 86_400_000;

type Cost = { processorMs: number; writtenBytes: number; residentBytes: number };

/** The cost of an idle receiver, including its handlers' process. Only Linux reports it per process. */
export async function measureAtRest({ report }: { report: Report }): Promise<void> {
  if (process.platform !== "linux") return report.line("At rest: measured on Linux only.");
  const { pid, stop } = await startReceiver({ role: "all", secret: SECRET });
  try {
    await wait(SETTLING_MS);
    const before = costOf(pid);
    await wait(MEASURED_MS);
    const after = costOf(pid);
    report.line(`At rest for ${String(MEASURED_MS / 1_000)} s, both processes`);
    const processorMs = after.processorMs - before.processorMs;
    report.held("at rest, of a core in %", (100 * processorMs) / MEASURED_MS, { atMost: 0.5 });
    const megabytes = (after.writtenBytes - before.writtenBytes) / 1_000_000;
    report.held("at rest, MB written a day", (megabytes * DAY_MS) / MEASURED_MS, { atMost: 20 });
    report.held("at rest, MB of memory, what they share once", after.residentBytes / 1_000_000, {
      atMost: 110,
    });
  } finally {
    await stop();
  }
}

/** CPU time of a process and its children since their start. */
function costOf(pid: number): Cost {
  const costs = [pid, ...numbers(`/proc/${String(pid)}/task/${String(pid)}/children`)].map(
    (process): Cost => {
      const of = `/proc/${String(process)}`;
      const threads = readdirSync(`${of}/task`).map(
        (thread) => numbers(`${of}/task/${thread}/schedstat`)[0] ?? 0,
      );
      return {
        processorMs: sum(threads) / 1_000_000,
        writtenBytes: field(`${of}/io`, "write_bytes"),
        // Memory shared by processes, such as the code of Node.js, counts once.
        residentBytes: field(`${of}/smaps_rollup`, "Pss") * 1_024,
      };
    },
  );
  return {
    processorMs: sum(costs.map(({ processorMs }) => processorMs)),
    writtenBytes: sum(costs.map(({ writtenBytes }) => writtenBytes)),
    residentBytes: sum(costs.map(({ residentBytes }) => residentBytes)),
  };
}

function numbers(file: string): number[] {
  return readFileSync(file, "utf8").split(/\s+/).filter(Boolean).map(Number);
}

/** The number of the line `name: 123 …` in a file. */
function field(file: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s*(\\d+)`, "m").exec(readFileSync(file, "utf8"))?.[1]);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
