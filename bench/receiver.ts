import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Worker } from "node:worker_threads";
import { createApp } from "../receiver/intake/app.ts";
import { systemClock } from "../receiver/clock.ts";
import type { Engine } from "../receiver/engine.ts";
import { createAccept, openInboxFile } from "../receiver/engines/sqlite/inbox-file.ts";
import { createWriter } from "../receiver/engines/sqlite/writer.ts";
import { createGroupCommit, type GroupCommit } from "../receiver/intake/group-commit.ts";
import { createHealth } from "../receiver/operations/health.ts";
import { createInbox } from "../receiver/intake/inbox.ts";
import { createLog } from "../receiver/operations/log.ts";
import { createMetrics } from "../receiver/operations/metrics.ts";
import { createHttpServer } from "../receiver/intake/server.ts";

/**
 * How to arrange the commits: one an event or one for all that arrived together, in the thread that reads requests or
 * in one of its own; on this disk, and on one whose every sync takes 5 ms more. Each acknowledgement is synced.
 * Run it with `npm run bench -- receiver`.
 */
const EVENTS = Number(process.env["BENCH_EVENTS"] ?? 1_500);
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 5);
const CONNECTIONS = 64;
const SECRET = "whsec_bench";
const SLOW_SYNC_MS = 5;

type Accept = Engine["accept"];
type Arrangement = { thread: "same" | "own"; slow: boolean; group: boolean };
type Measured = { perSecond: number; p50Ms: number; p99Ms: number; loopMaximumMs: number };

const arrangements = [false, true].flatMap((slow) =>
  (["same", "own"] as const).flatMap((thread) => [false, true].map((group) => ({ thread, slow, group }))),
);
// In turns, so that whatever else the machine does meets all of them.
const rounds: Measured[][] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  const measured: Measured[] = [];
  for (const arrangement of arrangements) measured.push(await measure(arrangement));
  rounds.push(measured);
}

process.stdout.write(
  `Acknowledgements of ${EVENTS.toLocaleString("en")} events over ${String(CONNECTIONS)} connections, medians of ${String(ROUNDS)} rounds\n` +
    `  ${"".padEnd(48)} ${"events/s".padStart(9)} ${"p50".padStart(9)} ${"p99".padStart(9)} ${"loop max".padStart(9)}\n`,
);
for (const [index, { thread, slow, group }] of arrangements.entries()) {
  const of = (what: keyof Measured): number => median(rounds.map((measured) => measured[index]?.[what] ?? 0));
  const name = `${slow ? `+${String(SLOW_SYNC_MS)} ms a sync, ` : ""}${thread} thread, commit per ${group ? "group" : "event"}`;
  const ms = (what: keyof Measured): string => `${of(what).toFixed(1)} ms`.padStart(9);
  process.stdout.write(
    `  ${name.padEnd(48)} ${Math.round(of("perSecond")).toLocaleString("en").padStart(9)} ${ms("p50Ms")} ${ms("p99Ms")} ${ms("loopMaximumMs")}\n`,
  );
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

async function measure(arrangement: Arrangement): Promise<Measured> {
  const { slow, group } = arrangement;
  const events = slow && !group ? Math.min(EVENTS, 400) : EVENTS;
  const directory = mkdtempSync(join(tmpdir(), "bench-receiver-"));
  const { accept, close } =
    arrangement.thread === "own" ? ownThread(directory, slow) : sameThread(directory, slow);
  const store = group ? createGroupCommit({ engine: { accept }, clock: systemClock }) : onePerEvent(accept);
  const health = createHealth({
    engine: { probe: async () => ({ ok: true }) },
    clock: systemClock,
    freeBytes: async () => Number.POSITIVE_INFINITY,
    minimumFreeBytes: 0,
  });
  const app = createApp({
    inbox: createInbox({ secrets: [SECRET], clock: systemClock, store }),
    webhookPath: "/webhooks",
    maxBodyBytes: 1_048_576,
    health,
    log: createLog({ level: "silent" }),
    metrics: createMetrics({ counts: () => Promise.reject(new Error("not scraped")), nowMs: Date.now }),
    clock: systemClock,
  });
  const server = createHttpServer({ app, clock: systemClock });
  const port = await server.listen(0, "127.0.0.1");
  const url = `http://127.0.0.1:${String(port)}/webhooks`;

  await load(url, 200);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const { tookMs, latenciesMs } = await load(url, events);
  delay.disable();
  health.stop();
  await server.drain(0);
  await close();
  rmSync(directory, { recursive: true });

  latenciesMs.sort((a, b) => a - b);
  const at = (part: number): number => latenciesMs[Math.floor(latenciesMs.length * part)] ?? 0;
  return {
    perSecond: (events / tookMs) * 1_000,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    loopMaximumMs: delay.max / 1e6,
  };
}

function ownThread(directory: string, slow: boolean): { accept: Accept; close: () => Promise<void> } {
  const threadFile = slow ? new URL("./support/receiver-slow-disk-thread.ts", import.meta.url) : undefined;
  return createWriter({ file: join(directory, "receiver.db"), threadFile });
}

function sameThread(directory: string, slow: boolean): { accept: Accept; close: () => Promise<void> } {
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  const db = openInboxFile({ file: join(directory, "receiver.db"), synchronous: "FULL", busyTimeoutMs: 250 });
  const beforeCommit = slow ? () => void Atomics.wait(nothing, 0, 0, SLOW_SYNC_MS) : undefined;
  const acceptNow = createAccept(db, { beforeCommit });
  return {
    // One turn of the event loop later, as the fairest version of it: what the turn brings goes into the same commit.
    accept: async (batch) =>
      new Promise((resolve) => {
        setImmediate(() => resolve({ ok: true, acceptances: acceptNow(batch) }));
      }),
    close: async () => void db.close(),
  };
}

function onePerEvent(accept: Accept): GroupCommit {
  return async (event) => {
    const result = await accept([event]);
    const acceptance = result.ok ? result.acceptances[0] : undefined;
    if (!result.ok) return result;
    return { ok: true, acceptance: acceptance ?? { duplicate: false } };
  };
}

async function load(url: string, events: number): Promise<{ tookMs: number; latenciesMs: number[] }> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL("./support/receiver-load.ts", import.meta.url), {
      workerData: { url, secret: SECRET, events, connections: CONNECTIONS },
    });
    thread.once("message", resolve);
    thread.once("error", reject);
  });
}
