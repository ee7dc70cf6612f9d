import { writeFile } from "node:fs/promises";
import { setInterval, setTimeout } from "node:timers";
import { Worker as Thread } from "node:worker_threads";
import { systemClock as clock, within } from "../clock.ts";
import { loadConfig } from "../config.ts";
import { createLog } from "../operations/log.ts";
import { createCleaner, secretsOf } from "../operations/present.ts";
import { createRestClient } from "../operations/rest-client.ts";
import { openStore } from "../store/open.ts";
import { logEnded, orderSchema, type ChildMessage, type Ended } from "./messages.ts";
import { changedAtMs, describeLoadError, loadHandlers, placesOf } from "./module.ts";
import { startWorker, type Worker } from "./worker.ts";

const BEAT_MS = 1_000;
/** Attempts per message: a longer one would delay the supervisor's answers to requests. */
const MOST_ENDED = 250;
/** How long handlers may run after the supervisor has died: another receiver may be waiting for this process to end. */
const ORPHANED_MS = 1_000;
/** How long services may take to close, and how long the exit may take beyond its grace. */
const CLOSING_MS = 500;
const EXIT_LIMIT_MS = 2_000;
const EXIT = { bug: 1, stuck: 70, broken: 78 };

/**
 * The process in which handlers run. If it blocks, fills its memory or crashes, its supervisor starts another one, and its
 * running attempts count. Its arguments are the URL of the handlers' module and the time since when no such process has
 * worked.
 */
const loaded = loadConfig(process.env, { needsSecret: false });
if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
const { config } = loaded;
const secrets = secretsOf(config);
const clean = createCleaner(secrets);
const log = createLog({ level: config.logLevel, name: "worker", secrets });
const stopping = new AbortController();
/** The memory of this process without handlers. */
const ownBytes = process.memoryUsage.rss();
const files: Record<string, number> = {};
let worker: Worker | undefined;
let ended: Ended[] = [];
let closeServices = async (): Promise<void> => undefined;

endWithParent();
// If memory runs out, Linux should kill this process rather than the one that acknowledges. Other systems ignore this.
writeFile("/proc/self/oom_score_adj", "800").catch(() => undefined);
// A terminal signals the whole process group; here only the supervisor decides when to stop.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
// A handler is not to blame if nothing reads what it prints any more.
for (const output of [process.stdout, process.stderr]) output.on("error", () => undefined);
process.on("uncaughtException", endByError);
process.on("disconnect", () => void exit(0, ORPHANED_MS));
process.on("message", (message) => {
  // A handler's dependency may receive messages too: unknown ones are ignored.
  const { data: order } = orderSchema.safeParse(message);
  if (order?.kind === "wake") worker?.wake();
  if (order?.kind === "drain") void exit(0, order.graceMs);
});
await work().catch(endByError);

async function work(): Promise<void> {
  const [, , module, awaySinceMs] = process.argv;
  const own = { isWorker: true, awaySinceMs: Number(awaySinceMs), onFatal, onCutOff: onFatal };
  const store = await openStore({ ...config, clock, ...own });
  const { handlers, services, onDead, close } = await loadHandlers(
    module,
    (file) => (files[file] = changedAtMs(file)),
  );
  closeServices = close;
  send({ kind: "ready", files });
  setInterval(beat, BEAT_MS);
  const api = config.api && createRestClient(config.api);
  worker = await startWorker({
    store,
    handlers,
    services,
    onDead,
    config,
    clock,
    random: Math.random,
    log,
    clean,
    api,
    signal: stopping.signal,
    onEnded: (attempt) => {
      logEnded(log, attempt);
      ended.push(attempt);
      if (ended.length >= MOST_ENDED) beat();
    },
    onStuck: ({ handler, id }) => {
      log.error({ handler, event_id: id }, "a handler still runs after its deadline; its process ends");
      void exit(EXIT.stuck, 0);
    },
  });
  const { workerConcurrency: concurrency } = config;
  log.info({ handlers: handlers.map(({ name }) => name), concurrency }, "handling events");
  beat();
}

function onFatal(problem: string): void {
  log.fatal({ problem }, "the database can no longer be used; the process ends");
  log.flush(() => process.exit(EXIT.bug));
}

function endByError(error: unknown): void {
  if (stopping.signal.aborted) return;
  if (worker === undefined) {
    send({ kind: "broken", problem: clean(describeLoadError(error)), files });
    return void exit(EXIT.broken, 0);
  }
  // The message may quote personal data of any event. The next worker counts the running attempts.
  const name = error instanceof Error ? error.name : typeof error;
  log.fatal({ error: name, at: placesOf(error)[0] }, "an error that no handler caught ends the process");
  log.flush(() => process.exit(EXIT.bug));
}

async function exit(code: number, graceMs: number): Promise<void> {
  if (stopping.signal.aborted) return;
  stopping.abort();
  setTimeout(() => process.exit(code), graceMs + EXIT_LIMIT_MS);
  await worker?.drain(graceMs);
  const closing = closeServices().catch((error: unknown) =>
    log.error({ err: error }, "closing services failed"),
  );
  await within(CLOSING_MS, closing, clock);
  beat();
  // The store stays open: its lock must be held until no handler can run any more, and that is when the process ends.
  log.flush(() => process.exit(code));
}

function beat(): void {
  const memoryBytes = process.memoryUsage.rss() - ownBytes;
  send({ kind: "alive", isWorking: worker !== undefined, memoryBytes, ended });
  ended = [];
}

function send(message: ChildMessage): void {
  if (process.connected) process.send?.(message);
}

/** Ends this process after its parent, even while a handler blocks it: the next worker waits for its lock. */
function endWithParent(): void {
  const watch = `
    const { parent, graceMs } = require("node:worker_threads").workerData;
    setInterval(() => process.ppid === parent || setTimeout(() => process.kill(process.pid, "SIGKILL"), graceMs), 500);`;
  const workerData = { parent: process.ppid, graceMs: ORPHANED_MS + EXIT_LIMIT_MS };
  new Thread(watch, { eval: true, workerData }).unref();
}
