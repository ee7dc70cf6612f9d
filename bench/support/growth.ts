import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fillInbox } from "./filled-inbox.ts";
import type { LoadResult } from "./load-messages.ts";
import { load } from "./load.ts";
import { startReceiver } from "./receiver-process.ts";
import { median, whole, type Report } from "./report.ts";

const SECRET = "whsec_bench_0123456789abcdef";
const CONNECTIONS = 64;

const FEW = 1_000;

type Measured = LoadResult & { perSecond: number; memoryBytes: number };

/** Acknowledgements with `many` events in the inbox, compared with a thousand. */
export async function measureGrowth(options: {
  events: number;
  rounds: number;
  many: number;
  report: Report;
}): Promise<void> {
  const { events, rounds, many, report } = options;
  const directory = mkdtempSync(join(tmpdir(), "bench-growth-"));
  try {
    const filled = { few: join(directory, "few"), many: join(directory, "many") };
    await fillInbox(filled.few, FEW);
    await fillInbox(filled.many, many);
    const few: Measured[] = [];
    const grown: Measured[] = [];
    for (let round = 0; round < rounds; round += 1) {
      few.push(await measure({ events, directory: filled.few }));
      grown.push(await measure({ events, directory: filled.many }));
    }
    report.line(`An inbox that grows, role ingest, medians of ${String(rounds)} rounds`);
    printed(report, `${whole(FEW)} events in it`, few);
    printed(report, `${whole(many)} events in it`, grown);
    report.held(
      `time of an event among ${whole(many)}, of that among ${whole(FEW)}`,
      perSecond(few) / perSecond(grown),
      {
        atMost: 1.2,
      },
    );
    const memory = (rows: readonly Measured[]): number => median(rows.map(({ memoryBytes }) => memoryBytes));
    report.held("its memory, of that among a thousand", memory(grown) / memory(few), { atMost: 1.2 });
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function measure({
  events,
  ...options
}: { events: number } & Omit<Parameters<typeof startReceiver>[0], "role" | "secret">): Promise<Measured> {
  const receiver = await startReceiver({ role: "ingest", secret: SECRET, ...options });
  try {
    const order = { url: receiver.url, scheme: "service", secret: SECRET, connections: CONNECTIONS };
    await load({ ...order, events: Math.ceil(events / 4) });
    const result = await load({ ...order, events });
    if (result.statuses["200"] !== events) throw new Error(`Answered ${JSON.stringify(result.statuses)}.`);
    return {
      ...result,
      perSecond: (events / result.tookMs) * 1_000,
      memoryBytes: await receiver.memoryBytes(),
    };
  } finally {
    await receiver.stop();
  }
}

function perSecond(rows: readonly Measured[]): number {
  return median(rows.map((row) => row.perSecond));
}

function printed(report: Report, name: string, rows: readonly Measured[]): void {
  const p99Ms = median(rows.map((row) => row.p99Ms));
  report.line(
    `${name.padEnd(56)} ${whole(perSecond(rows)).padStart(9)} a second   p99 ${p99Ms.toFixed(1).padStart(6)} ms`,
  );
}
