import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { backoffMs } from "./backoff.ts";
import { systemClock } from "../clock.ts";
import { loadConfig, type Config } from "../config.ts";
import type { Engine, Handled } from "../engine.ts";
import { createSqliteEngine } from "../engines/sqlite/index.ts";
import type { Handler } from "./handler.ts";
import { createHandling } from "./handling.ts";
import { createLog, type Log } from "../operations/log.ts";
import { createRestClient } from "../operations/rest-client.ts";
import { supervisorMessageSchema, type WorkerMessage } from "./messages.ts";

const ALIVE_INTERVAL_MS = 1_000;
const RETENTION_INTERVAL_MS = 3_600_000;
const DAY_MS = 86_400_000;
const EXIT_STUCK = 70;

/**
 * The process in which handlers run: it may be blocked, fill its memory or crash, and all that happens is that its
 * supervisor starts another. Ends when it is told to, and when its supervisor is gone.
 */
export async function runWorker({ handlers }: { handlers: readonly Handler[] }): Promise<void> {
  const loaded = loadConfig({ ...process.env, RECEIVER_ROLE: "worker" });
  if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
  const { config } = loaded;
  const clock = systemClock;
  const log = createLog({ level: config.logLevel, name: "worker" });
  volunteerForTheOutOfMemoryKiller();

  const workerId = `${hostname()}:${String(process.pid)}:${randomBytes(4).toString("hex")}`;
  const tables = handlers.flatMap((handler) => handler.tables);
  const engine = createSqliteEngine({ file: config.databaseFile, clock, workerId, tables });
  const api =
    config.api &&
    createRestClient({ ...config.api, baseUrl: config.api.baseUrl, clock, random: Math.random });

  let abandoned = 0;
  const handle = createHandling({
    handlers,
    timeoutMs: config.handlerTimeoutMs,
    clock,
    log,
    api,
    onAbandoned: () => {
      abandoned += 1;
      // Nobody can stop a handler that ignores its deadline. When there are as many as slots, only a new process helps.
      if (abandoned >= config.workerConcurrency) void exit(EXIT_STUCK);
    },
  });
  const processor = engine.process({
    handle,
    concurrency: config.workerConcurrency,
    maximumAttempts: config.maximumAttempts,
    backoffMs: (attempt) => backoffMs(attempt, Math.random),
    onHandled: (handled) => {
      logHandled(log, handled);
      tell({ kind: "handled", handled });
    },
    onTrouble: (error) =>
      log.error({ err: error }, "the background loop could not reach its database; it goes on trying"),
  });

  let exiting = false;
  async function exit(code: number, graceMs = 0): Promise<void> {
    if (exiting) return;
    exiting = true;
    await processor
      .drain(graceMs)
      .catch((error: unknown) => log.error({ err: error }, "could not return events"));
    await engine.close();
    log.flush();
    process.exit(code);
  }

  // Signals of a terminal reach the whole group of processes; here the supervisor says when to stop.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
  process.on("disconnect", () => void exit(0, config.shutdownTimeoutMs));
  process.on("message", (message) => {
    const order = supervisorMessageSchema.parse(message);
    if (order.kind === "wake") processor.wake();
    else void exit(0, order.graceMs);
  });
  tell({ kind: "started", workerId });
  setInterval(() => tell({ kind: "alive" }), ALIVE_INTERVAL_MS);
  void keepRetention(engine, config, log);
  setInterval(() => void keepRetention(engine, config, log), RETENTION_INTERVAL_MS);
}

/** Where memory runs out, Linux shall end this process and not the one that acknowledges. */
function volunteerForTheOutOfMemoryKiller(): void {
  // Other systems have no such file, and some containers don't let us write it: then things stay as they are.
  writeFile("/proc/self/oom_score_adj", "800").catch(() => undefined);
}

function tell(message: WorkerMessage): void {
  // A supervisor that is gone hears nothing; the `disconnect` event ends this process.
  if (process.connected) process.send?.(message);
}

function logHandled(log: Log, { id, type, attempt, outcome, durationMs, error }: Handled): void {
  const fields = {
    event_id: id,
    type,
    attempt,
    outcome,
    duration_ms: Math.round(durationMs),
    ...(error === undefined ? {} : { error }),
  };
  if (outcome === "done" || outcome === "ignored") log.info(fields, "handled");
  else if (outcome === "failed") log.warn(fields, "handling failed; it will be tried again");
  else if (outcome === "lost")
    log.warn(fields, "the lease ran out before the handler was done; another worker has the event");
  else log.error(fields, "dead: requeue it once the cause is mended");
}

async function keepRetention(engine: Engine, config: Config, log: Log): Promise<void> {
  const nowMs = systemClock.nowMs();
  try {
    const pruned = await engine.prune({
      bodiesBeforeMs: nowMs - config.retentionDays * DAY_MS,
      idsBeforeMs: nowMs - config.idRetentionDays * DAY_MS,
    });
    if (pruned.bodies + pruned.ids > 0) log.info(pruned, "pruned what was kept long enough");
  } catch (error) {
    log.error({ err: error }, "retention failed; it is tried again in an hour");
  }
}
