import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { within, type Clock } from "./clock.ts";
import type { Config } from "./config.ts";
import type { Counts, Engine } from "./engine.ts";
import { createMiddleware, type Middleware } from "./intake/adapters.ts";
import { createBodyReader, type BodyReader } from "./intake/body.ts";
import { createGroupCommit } from "./intake/group-commit.ts";
import { createInbox } from "./intake/inbox.ts";
import { createWebhook, type Webhook } from "./intake/webhook.ts";
import { createHealth, type Health } from "./operations/health.ts";
import type { Log } from "./operations/log.ts";
import type { Metrics } from "./operations/metrics.ts";
import { createRequestLog, type RequestLog } from "./operations/request-log.ts";
import { NOT_FOR_HANDLERS } from "./operations/secrets.ts";
import { startSupervisor, type Supervisor } from "./work/supervisor.ts";
import { watchFiles, type FileWatch } from "./work/watch-files.ts";

/** The part of SHUTDOWN_TIMEOUT_SECONDS that is kept for ending the handlers' process, closing files and the last log lines. */
const CLOSING_MS = 2_500;

/** What handles events, wherever it runs. */
export type Work = Pick<Supervisor, "alive" | "wake" | "stop">;

/** A receiver without a port: what takes requests, and what looks after it. */
export type Composed = {
  middleware: Middleware;
  /** The parts of `middleware`, for requests of another kind, such as the Fetch API's. */
  webhook: Webhook;
  body: BodyReader;
  health: Health;
  metrics: Metrics;
  /** Logs a request that the app answered itself. */
  logRequest: RequestLog;
  /** How long requests and handlers may still run once the receiver is told to stop. */
  graceMs: number;
  /** Takes nothing more; waits for requests and handlers, for `graceMs` at the most, and returns what is left. */
  drain: () => Promise<void>;
  /** Closes the database. */
  close: () => Promise<void>;
};

export type ComposeOptions = {
  config: Config;
  engine: Engine;
  clock: Clock;
  log: Log;
  /** What the handlers' process gets to see of the environment. */
  environment: NodeJS.ProcessEnv;
  /** Where a debugger of the handlers may connect, such as `127.0.0.1:9229`. */
  inspectHandlers?: string | undefined;
  /** The module of the handlers, unless it is receiver/handlers. */
  handlersModule?: URL | undefined;
  /** Handles events, instead of a process for a module of handlers. */
  startWork?: ((options: ComposeOptions, metrics: () => Metrics) => Promise<Work>) | undefined;
  /** Load the handlers anew whenever one of their files changes. */
  watchHandlers?: boolean | undefined;
};

/**
 * Puts the parts together, by role: `ingest` takes events, `worker` handles them in a process of its own, `all` does
 * both. The handlers' process is supervised from here in either case, so a handler never shares a process with anything
 * that has to answer, unless `startWork` runs it here.
 */
export async function compose(options: ComposeOptions): Promise<Composed> {
  const { config, engine, clock, log } = options;
  const { startWork = superviseWorker } = options;
  const work = config.role === "ingest" ? undefined : await startWork(options, () => metrics);
  const metrics = madeWhenNeeded(async () => {
    const { createMetrics } = await import("./operations/metrics.ts");
    // Prometheus gives up after 10 s, and would have nothing at all of a receiver whose database is locked.
    const counts = async (): Promise<Counts | undefined> => within(5_000, engine.ledger.counts(), clock);
    return createMetrics({ counts, workerAlive: work?.alive });
  });
  let storedBytes = 0;
  const health = createHealth({
    probe: engine.intake.probe,
    clock,
    freeBytes: async () => freeBytes(config.databaseFile),
    minimumFreeBytes: config.minimumFreeBytes,
    storedBytes: () => storedBytes,
    // A blocked handler makes no process unready that also takes events: a metric and an alert tell of it there.
    ...(work && config.role === "worker" ? { workerAlive: work.alive } : {}),
  });

  const accept: Engine["intake"]["accept"] = async (batch) => {
    const result = await engine.intake.accept(batch);
    for (const [index, { body }] of batch.entries())
      if (result.ok && result.acceptances[index]?.duplicate === false) storedBytes += body.byteLength;
    if (result.ok) work?.wake();
    return result;
  };
  const logRequest = createRequestLog({ log, clock });
  const store = createGroupCommit({ accept, clock });
  const inbox = createInbox({ secrets: config.signingSecrets, clock, store });
  const answer = createWebhook({ ...config, inbox, health, log, logRequest, metrics, clock });
  const unanswered = new Set<Promise<void>>();
  const webhook: Webhook = (request, send) => {
    const answering = answer(request, send);
    unanswered.add(answering);
    return answering.finally(() => unanswered.delete(answering));
  };
  const body = createBodyReader(config);
  const graceMs = Math.max(0, config.shutdownTimeoutMs - CLOSING_MS);

  // Starts the thread that commits, so that the first event doesn't wait for it. A disk that is full now may have room later.
  const probed = await engine.intake.probe();
  if (!probed.ok)
    log.error(
      { reason: probed.reason, detail: probed.detail },
      "the database takes no writes; events are refused until it does",
    );

  return {
    middleware: createMiddleware(webhook, body, health.draining),
    webhook,
    body,
    health,
    metrics,
    logRequest,
    graceMs,
    drain: async () => {
      health.startDraining();
      // Handlers finish while the last requests do: both have the whole time.
      await Promise.all([within(graceMs, Promise.all(unanswered), clock), work?.stop(graceMs)]);
    },
    close: async () => {
      health.stop();
      await engine.close();
    },
  };
}

/** Makes metrics with the first of them or the first scrape, so that no start waits for their client to be loaded. */
function madeWhenNeeded(make: () => Promise<Metrics>): Metrics {
  let made: Promise<Metrics> | undefined;
  const count = (one: (to: Metrics) => void): void => void (made ??= make()).then(one);
  return {
    received: (receipt, seconds) => count((to) => to.received(receipt, seconds)),
    refused: (reason) => count((to) => to.refused(reason)),
    handled: (attempts) => count((to) => to.handled(attempts)),
    workerDied: () => count((to) => to.workerDied()),
    text: async () => (await (made ??= make())).text(),
  };
}

async function superviseWorker(options: ComposeOptions, metrics: () => Metrics): Promise<Work> {
  const { config, clock, log } = options;
  const environment = Object.fromEntries(
    Object.entries(options.environment).filter(([name]) => !NOT_FOR_HANDLERS.has(name)),
  );
  let watching: FileWatch | undefined;
  const supervisor = startSupervisor({
    environment,
    handlersModule: options.handlersModule,
    memoryMegabytes: config.handlerMemoryMegabytes,
    inspect: options.inspectHandlers,
    keepsSpare: options.watchHandlers,
    clock,
    log,
    onEnded: (attempts) => metrics().handled(attempts),
    onDeath: () => metrics().workerDied(),
    onFiles: (files) => watching?.follow(files),
  });
  if (options.watchHandlers === true) watching = watchFiles(supervisor.reload, clock);
  return {
    ...supervisor,
    stop: async (graceMs) => {
      watching?.stop();
      await supervisor.stop(graceMs);
    },
  };
}

/** Free bytes of the disk that events are written to. A database on a server reports a full disk itself. */
async function freeBytes(databaseFile: string | undefined): Promise<number> {
  if (databaseFile === undefined) return Number.POSITIVE_INFINITY;
  const { bavail, bsize } = await statfs(dirname(databaseFile));
  return bavail * bsize;
}
