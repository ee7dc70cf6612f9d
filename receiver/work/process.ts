import "../../shared/node-version.ts";
import { writeFile } from "node:fs/promises";
import { clearInterval, setInterval, setTimeout } from "node:timers";
import { systemClock, within } from "../clock.ts";
import { loadConfig } from "../config.ts";
import { createLog } from "../operations/log.ts";
import { createCleaner, secretsOf } from "../operations/privacy.ts";
import { createRestClient } from "../operations/rest-client.ts";
import { openStore } from "../store/open.ts";
import { logEnded, type Ended } from "./ended.ts";
import { describeLoadError, placeOf } from "./load-error.ts";
import { orderSchema, type ChildMessage } from "./messages.ts";
import { loadHandlers } from "./module.ts";
import { startWatchdog } from "./watchdog.ts";
import { startWorker, type Worker } from "./worker.ts";

const BEAT_MS = 1_000;
/** Attempts in one message: a longer one would delay the supervisor's answers to requests. */
const MOST_ENDED = 250;
/** How long handlers may go on after the supervisor is gone: another receiver may wait for this process to end. */
const ORPHANED_MS = 1_000;
/** What services may take to close, and what the exit may take beyond its grace. */
const CLOSING_MS = 500;
const EXIT_LIMIT_MS = 2_000;
const EXIT = { bug: 1, stuck: 70, broken: 78 };

/**
 * The process in which handlers run. It may be blocked, fill its memory or crash: then its supervisor starts another, and
 * the attempts that it was making count. Its argument is the URL of the handlers' module, if it is not receiver/handlers.
 */
const loaded = loadConfig(process.env, { needsSecret: false });
if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
const { config } = loaded;
const clock = systemClock;
const secrets = secretsOf(config);
const clean = createCleaner(secrets);
const log = createLog({ level: config.logLevel, name: "worker", secrets });
const stopping = new AbortController();
const files = new Set<string>();
let worker: Worker | undefined;
let ended: Ended[] = [];
let beats: NodeJS.Timeout | undefined;
let closeServices = async (): Promise<void> => undefined;

startWatchdog(ORPHANED_MS + EXIT_LIMIT_MS);
// If memory runs out, Linux is to end this process and not the one that acknowledges. Where that is impossible, nothing changes.
writeFile("/proc/self/oom_score_adj", "800").catch(() => undefined);
process.on("uncaughtException", endByError);
// A terminal signals the whole group of processes; here the supervisor says when to stop.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
process.on("disconnect", () => void exit(0, ORPHANED_MS));
process.on("message", (message) => {
  // A handler's dependency may receive messages, too: unknown ones are ignored.
  const { data: order } = orderSchema.safeParse(message);
  if (order?.kind === "wake") worker?.wake();
  if (order?.kind === "drain") void exit(0, order.graceMs);
});

try {
  await work();
} catch (error) {
  if (!stopping.signal.aborted) await endBroken(error);
}

async function work(): Promise<void> {
  // Before the handlers, so that tsx does not look at the receiver's own modules.
  const store = await openStore({ ...config, clock, onFatal: (error) => endByError(error) });
  const { handlers, services, onDead, close } = await loadHandlers(process.argv[2], (file) => files.add(file));
  closeServices = close;
  send({ kind: "ready", files: [...files] });
  beats = setInterval(beat, BEAT_MS);
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
    api: config.api && createRestClient({ ...config.api, clock, random: Math.random }),
    signal: stopping.signal,
    onEnded: (attempt) => {
      logEnded(log, attempt);
      ended.push(attempt);
      if (ended.length >= MOST_ENDED) beat();
    },
    onStuck: ({ handler, id }) => {
      log.error({ handler, event_id: id }, "a handler goes on after its deadline; its process ends");
      void exit(EXIT.stuck, 0);
    },
  });
  beat();
}

function endByError(error: unknown): void {
  if (!worker) return void endBroken(error);
  const name = error instanceof Error ? error.name : typeof error;
  // Its message may quote personal data of any event.
  log.fatal({ error: name, at: placeOf(error) }, "an error that no handler caught ends the process");
  log.flush(() => process.exit(EXIT.bug));
}

async function endBroken(error: unknown): Promise<void> {
  send({ kind: "broken", problem: clean(describeLoadError(error)), files: [...files] });
  await exit(EXIT.broken, 0);
}

async function exit(code: number, graceMs: number): Promise<void> {
  if (stopping.signal.aborted) return;
  stopping.abort();
  setTimeout(() => process.exit(code), graceMs + EXIT_LIMIT_MS);
  await worker?.drain(graceMs);
  const closing = closeServices().catch((error: unknown) => log.error({ err: error }, "closing services failed"));
  await within(CLOSING_MS, closing, clock);
  clearInterval(beats);
  beat();
  // The store is not closed: its lock is free only when no handler can run any more, at the end of the process.
  log.flush(() => process.exit(code));
}

function beat(): void {
  const { rss, ... } = process.memoryUsage();
  send({ kind: "alive", isWorking: worker !== undefined, ended, memoryBytes: heapUsed + external });
  ended = [];
}

function send(message: ChildMessage): void {
  // Without a supervisor, the `disconnect` event ends this process.
  if (process.connected) process.send?.(message);
}
