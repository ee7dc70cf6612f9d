import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { load } from "./load.ts";
import { metric, startReceiver } from "./receiver-process.ts";
import { median, whole, type Report } from "./report.ts";

const SECRET = "whsec_bench_0123456789abcdef";
const OURS = "this receiver, with its own handlers";
const TUNED = "the same, with WORKER_CONCURRENCY=32";
const BARE = "better-sqlite3, a transaction of two statements each";
const CLAIMING = "the same, which writes down what it begins";
const LOGGING = "the same, which also logs a line each";
const QUEUES = { [BARE]: "bare", [CLAIMING]: "claiming", [LOGGING]: "logging", plainjob: "plainjob" };
/**
 * How fast a backlog is handled: ours with its shipped handlers, effects exactly once; a bare loop on better-sqlite3 with
 * one NORMAL transaction of two statements an event, and the same loop with more of what ours does; and plainjob with the
 * same effect written by its jobs.
 */
export async function measureHandling(options: {
  events: number;
  rounds: number;
  report: Report;
}): Promise<void> {
  const { events, rounds, report } = options;
  const names = [OURS, TUNED, ...Object.keys(QUEUES)];
  const measured = new Map(names.map((name): [string, number[]] => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    measured.get(OURS)?.push(await ours(events));
    measured.get(TUNED)?.push(await ours(events, { WORKER_CONCURRENCY: "32" }));
    for (const [name, queue] of Object.entries(QUEUES))
      measured.get(name)?.push(await onFiles(queue, events));
  }
  const of = (name: string): number => median(measured.get(name) ?? []);

  report.line(`Handled of a backlog of ${whole(events)} events, medians of ${String(rounds)} rounds`);
  for (const name of measured.keys()) {
    report.line(
      `${name.padEnd(56)} ${whole(of(name)).padStart(9)} a second ${`${(of(name) / of(BARE)).toFixed(2)}×`.padStart(7)}`,
    );
  }
  report.held("handled, of the bare loop", of(OURS) / of(BARE), { atLeast: 0.8 });
  report.held("handled, of plainjob", of(OURS) / of("plainjob"), { atLeast: 3 });
}

/** Accepts the events without a worker, then starts one and waits until all are handled. */
async function ours(events: number, environment: Record<string, string> = {}): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), "bench-handling-"));
  try {
    const ingest = await startReceiver({ role: "ingest", secret: SECRET, directory });
    await load({ url: ingest.url, scheme: "service", secret: SECRET, events, connections: 64 });
    await ingest.stop();

    const all = await startReceiver({ role: "all", secret: SECRET, directory, environment });
    const done = async (): Promise<number> =>
      metric(all.adminUrl, "receiver_handling_seconds_count", /outcome="done"/);
    // From the first event seen as done, which excludes the start, to the last.
    const first = await waitFor(done, (count) => count > 0);
    const last = await waitFor(done, (count) => count === events);
    await all.stop();
    return ((last.count - first.count) / (last.atMs - first.atMs)) * 1_000;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function waitFor(
  look: () => Promise<number>,
  isIt: (count: number) => boolean,
): Promise<{ count: number; atMs: number }> {
  for (;;) {
    const count = await look();
    if (isIt(count)) return { count, atMs: performance.now() };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function onFiles(queue: string, events: number): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), "bench-queue-"));
  try {
    return await peer(queue, directory, events);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function peer(queue: string, place: string, events: number): Promise<number> {
  const child = fork(join(import.meta.dirname, "queue-process.ts"), [queue, place, String(events)]);
  const [tookMs] = await once(child, "message");
  await once(child, "exit");
  return (events / z.number().parse(tookMs)) * 1_000;
}
