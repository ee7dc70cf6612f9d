import { writeFile } from "node:fs/promises";
import { systemClock } from "../clock.ts";
import { loadConfig } from "../config.ts";
import type { Engine, Handled } from "../engine.ts";
import { openEngine } from "../engines/open.ts";
import { createHandlingMetrics } from "../operations/handling-metrics.ts";
import { createLog, describePlace, type Log } from "../operations/log.ts";
import { knownType } from "../operations/privacy.ts";
import { createRestClient } from "../operations/rest-client.ts";
import { createRedactor, secretsOf } from "../operations/secrets.ts";
import { retryPolicy } from "./backoff.ts";
import type { Handler } from "./handler.ts";
import { createHandling } from "./handling.ts";
import { supervisorMessageSchema, type ChildMessage } from "./messages.ts";
import { startWatchdog } from "./watchdog.ts";
import { createWorkerId, isWorkerGone } from "./worker-id.ts";

const ALIVE_INTERVAL_MS = 1_000;
const RETENTION_INTERVAL_MS = 3_600_000;
const DAY_MS = 86_400_000;
const EXIT_STUCK = 70;
const EXIT_BUG = 1;

/** What a drain takes beyond its grace. */
const FAREWELL_MS = 2_000;

/**
 * The process in which handlers run: it may be blocked, fill its memory or crash, and all that happens is that its
 * supervisor starts another. Ends when it is told to, and when its supervisor is gone.
 */
export async function runWorker({ handlers }: { handlers: readonly Handler[] }): Promise<void> {
  const loaded = loadConfig({ ...process.env, RECEIVER_ROLE: "worker" });
  if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
  const { config } = loaded;
  const clock = systemClock;
  const secrets = secretsOf(config);
  const log = createLog({ level: config.logLevel, name: "worker", secrets });
  process.on("uncaughtException", (error) => {
    // Nobody knows which event it quotes, so its message stays here.
    log.fatal(describePlace(error), "an error that a handler did not wait for ends its process");
    process.exit(EXIT_BUG);
  });
  const metrics = createHandlingMetrics();
  startWatchdog({ graceMs: config.shutdownTimeoutMs + FAREWELL_MS });
  volunteerForTheOutOfMemoryKiller();

  const workerId = createWorkerId(process.connected ? process.ppid : undefined);
  const engine = await openEngine({
    databaseFile: config.databaseFile,
    databaseUrl: config.databaseUrl,
    clock,
    retry: retryPolicy(config.maximumAttempts, Math.random),
    migrations: handlers.map(({ type, migrations }) => ({ handler: type, migrations })),
  });
  const handle = createHandling({
    handlers,
    timeoutMs: config.handlerTimeoutMs,
    clock,
    log,
    api:
      config.api &&
      createRestClient({ ...config.api, baseUrl: config.api.baseUrl, clock, random: Math.random }),
    redact: createRedactor(secrets),
    onAbandoned: (running) => {
      log.error({ running }, "a handler goes on past its deadline and ignores its signal");
      // Nobody can stop them. When there are as many as slots, only a new process helps.
      if (running >= config.workerConcurrency) void exit(EXIT_STUCK);
    },
  });
  const processor = engine.work.process({
    handle,
    workerId,
    isGone: isWorkerGone,
    concurrency: config.workerConcurrency,
    onHandled: (handled) => {
      logHandled(log, handled);
      metrics.handled(handled);
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
    await tellAlive();
    await engine.close();
    await Promise.race([new Promise((written) => log.flush(written)), clock.sleep(FAREWELL_MS)]);
    process.exit(code);
  }

  const tellAlive = async (): Promise<void> => tell({ kind: "alive", handling: await metrics.report() });

  // Signals of a terminal reach the whole group of processes; here the supervisor says when to stop.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
  process.on("disconnect", () => void exit(0, config.shutdownTimeoutMs));
  // It may have gone before anybody listened.
  if (process.send !== undefined && !process.connected) void exit(0);
  process.on("message", (message) => {
    const order = supervisorMessageSchema.safeParse(message);
    if (order.success) void exit(0, order.data.graceMs);
  });
  tell({ kind: "started", workerId });
  setInterval(() => void tellAlive(), ALIVE_INTERVAL_MS);
  const older = {
    bodiesOlderThanMs: config.retentionDays * DAY_MS,
    idsOlderThanMs: config.idRetentionDays * DAY_MS,
  };
  void keepRetention(engine, older, log);
  setInterval(() => void keepRetention(engine, older, log), RETENTION_INTERVAL_MS);
}

/** Where memory runs out, Linux shall end this process and not the one that acknowledges. */
function volunteerForTheOutOfMemoryKiller(): void {
  // Other systems have no such file, and some containers don't let us write it: then things stay as they are.
  writeFile("/proc/self/oom_score_adj", "800").catch(() => undefined);
}

function tell(message: ChildMessage): void {
  // A supervisor that is gone hears nothing; the `disconnect` event ends this process.
  if (process.connected) process.send?.(message);
}

function logHandled(log: Log, { id, type, attempt, outcome, durationMs, error }: Handled): void {
  const fields = {
    event_id: id,
    type: knownType(type),
    attempt,
    outcome,
    duration_ms: Math.round(durationMs),
    ...(error === undefined ? {} : { error }),
  };
  if (outcome === "done" || outcome === "ignored") log.info(fields, "handled");
  else if (outcome === "failed") log.warn(fields, "handling failed; it will be tried again");
  else if (outcome === "lost") log.warn(fields, "the claim was lost; another worker has the event");
  else log.error(fields, "dead: requeue it once the cause is mended");
}

async function keepRetention(
  engine: Engine,
  older: { bodiesOlderThanMs: number; idsOlderThanMs: number },
  log: Log,
): Promise<void> {
  try {
    const pruned = await engine.ledger.prune(older);
    if (pruned.bodies + pruned.ids > 0) log.info(pruned, "pruned what was kept long enough");
  } catch (error) {
    log.error({ err: error }, "retention failed; it is tried again in an hour");
  }
}
