import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Worker } from "node:worker_threads";
import { createApp } from "../receiver/app.ts";
import { systemClock } from "../receiver/clock.ts";
import type { Engine } from "../receiver/engine.ts";
import { createAccept, openInboxFile } from "../receiver/engines/sqlite/inbox-file.ts";
import { createWriter } from "../receiver/engines/sqlite/writer.ts";
import { createGroupCommit, type GroupCommit } from "../receiver/group-commit.ts";
import { createHealth } from "../receiver/health.ts";
import { createInbox } from "../receiver/inbox.ts";
import { createLog } from "../receiver/log.ts";
import { createMetrics } from "../receiver/metrics.ts";
import { createHttpServer } from "../receiver/server.ts";

/**
 * How to arrange the commits: one an event or one for all that arrived together, in the thread that reads requests or
 * in one of its own; on this disk, and on one whose every sync takes 5 ms more. Each acknowledgement is synced.
 * Run it with `npm run bench -- receiver`.
 */
const EVENTS = Number(process.env["BENCH_EVENTS"] ?? 4_000);
const CONNECTIONS = 64;
const SECRET = "whsec_bench";
const SLOW_SYNC_MS = 5;

type Accept = Engine["accept"];

process.stdout.write(
  `Acknowledgements of ${EVENTS.toLocaleString("en")} events over ${String(CONNECTIONS)} connections; ${String(cpus().length)} × ${cpus()[0]?.model.trim() ?? "CPU"}\n` +
    `  ${"".padEnd(44)} ${"events/s".padStart(9)} ${"p50".padStart(8)} ${"p99".padStart(8)} ${"loop max".padStart(9)}\n`,
);
for (const slow of [false, true]) {
  for (const thread of ["same", "own"] as const) {
    for (const group of [false, true]) {
      const name = `${slow ? `+${String(SLOW_SYNC_MS)} ms a sync, ` : ""}${thread} thread, commit per ${group ? "group" : "event"}`;
      await measure(name, { thread, slow, group, events: slow && !group ? Math.min(EVENTS, 1_000) : EVENTS });
    }
  }
}

async function measure(
  name: string,
  options: { thread: "same" | "own"; slow: boolean; group: boolean; events: number },
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "bench-receiver-"));
  const { accept, close } =
    options.thread === "own" ? ownThread(directory, options.slow) : sameThread(directory, options.slow);
  const store = options.group
    ? createGroupCommit({ engine: { accept }, clock: systemClock })
    : onePerEvent(accept);
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

  await load(url, Math.min(500, options.events));
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const { tookMs, latenciesMs } = await load(url, options.events);
  delay.disable();
  latenciesMs.sort((a, b) => a - b);
  const at = (part: number): string =>
    `${(latenciesMs[Math.floor(latenciesMs.length * part)] ?? 0).toFixed(1)} ms`;
  process.stdout.write(
    `  ${name.padEnd(44)} ${Math.round((options.events / tookMs) * 1_000)
      .toLocaleString("en")
      .padStart(
        9,
      )} ${at(0.5).padStart(8)} ${at(0.99).padStart(8)} ${`${(delay.max / 1e6).toFixed(0)} ms`.padStart(9)}\n`,
  );
  health.stop();
  await server.drain(0);
  await close();
  rmSync(directory, { recursive: true });
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
