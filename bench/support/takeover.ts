import { setTimeout as wait } from "node:timers/promises";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { load } from "./load.ts";
import { startReceiver } from "./receiver-process.ts";
import { median, type Report } from "./report.ts";

const SECRET = "whsec_bench_0123456789abcdef";
const EVENTS = 20_000;
const LIMIT_MS = 60_000;

/** The time from a SIGKILL of a receiver and its worker, under a backlog, until a standby has handled the next event. */
export async function measureTakeover({ rounds, report }: { rounds: number; report: Report }): Promise<void> {
  const seconds: number[] = [];
  for (let round = 0; round < rounds; round += 1) seconds.push(await measure());
  report.line(
    `A worker that is killed, beside one that waits for its lock, medians of ${String(rounds)} rounds`,
  );
  report.held("from the kill to the next event handled, in seconds", median(seconds), { atMost: 1 });
}

async function measure(): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), "bench-takeover-"));
  const first = await startReceiver({ role: "all", secret: SECRET, directory });
  const standby = await startReceiver({ role: "all", secret: SECRET, directory });
  const db = new Database(join(directory, "receiver.db"), { readonly: true });
  const count = db.prepare<[], number>("SELECT count(*) FROM jobs WHERE state = 'done'").pluck();
  try {
    await load({ url: first.url, scheme: "service", secret: SECRET, events: EVENTS, connections: 64 });
    await first.kill();
    const killedAtMs = performance.now();
    const before = count.get() ?? 0;
    // All loaded events may have been handled by now.
    await load({ url: standby.url, scheme: "service", secret: SECRET, events: 1, connections: 1 });
    while ((count.get() ?? 0) === before) {
      if (performance.now() > killedAtMs + LIMIT_MS) throw new Error("The standby handled nothing.");
      await wait(5);
    }
    return (performance.now() - killedAtMs) / 1_000;
  } finally {
    db.close();
    await standby.stop();
    rmSync(directory, { recursive: true });
  }
}
