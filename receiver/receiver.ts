import { resolve } from "node:path";
import { hostInUrl, serve, type Served } from "../shared/server.ts";
import { createApp } from "./app.ts";
import { within, type Clock } from "./clock.ts";
import { environmentForHandlers, type Config } from "./config.ts";
import { createMiddleware, pathOf } from "./intake/adapters.ts";
import { createBodyReader } from "./intake/body.ts";
import { createGroupCommit, createInbox } from "./intake/inbox.ts";
import { createWebhook, type Webhook } from "./intake/webhook.ts";
import { createAdminApp } from "./operations/admin.ts";
import { createHealth, freeBytesFor } from "./operations/health.ts";
import { createRequestLog, type Log } from "./operations/log.ts";
import { createMetrics, type Metrics } from "./operations/metrics.ts";
import { createOperatorPage } from "./operations/page/index.ts";
import { createCleaner, secretsOf } from "./operations/present.ts";
import type { Intake, Store } from "./store/port.ts";
import { startSupervisor, type Supervisor, type SupervisorOptions } from "./work/supervisor.ts";

export type Started = Awaited<ReturnType<typeof startReceiver>>;

export type StartOptions = {
  config: Config;
  store: Store;
  clock: Clock;
  log: Log;
  /** The environment of the handlers' process, read at each start of it; secrets that handlers do not need are removed. */
  environment: () => NodeJS.ProcessEnv;
  /** The module of the handlers, if it is not receiver/handlers. */
  handlersModule?: URL | undefined;
  /** Restart the handlers when one of their files changes. */
  watchHandlers?: boolean | undefined;
};

/** Starts the receiver as a service: an Express app on PORT, one for operators on ADMIN_PORT, and the handlers. */
export async function startReceiver(options: StartOptions) {
  const { config, store, clock, log } = options;
  const receiver = await compose({
    ...options,
    startWork: async (metrics) => superviseHandlers({ ...options, metrics }),
  });
  const open: Served[] = [];
  /** Stops taking events, finishes running work within SHUTDOWN_TIMEOUT_SECONDS, and closes the database. */
  const stop = async (): Promise<void> => {
    const [admin, server] = open;
    await Promise.all([receiver.drain(), server?.drain(receiver.graceMs)]);
    await admin?.drain(0);
    await receiver.close();
  };

  try {
    const { adminPort, adminHost, host, port, role, webhookPath } = config;
    const listen = async (...[app, where]: Parameters<typeof serve>): Promise<string> => {
      const served = await serve(app, { ...where, keepAliveTimeout: config.keepAliveMs });
      open.push(served);
      return `http://${hostInUrl(where.host)}:${String(served.port)}`;
    };
    const parts = { ...config, ...receiver, ledger: store.ledger, log, clock };
    const adminApp = createAdminApp({ ...parts, page: createOperatorPage(parts) });
    const adminUrl = await listen(adminApp, { port: adminPort, host: adminHost });
    if (role === "worker") {
      log.info({ admin_url: adminUrl, role }, "working");
      return { url: undefined, adminUrl, stop };
    }
    const app = createApp(receiver, { webhookPath, log });
    // Without Express's routing, which takes half as long as the answer itself, if the app has nothing in front of the webhook.
    const isFirst = app.router.stack[0]?.route?.path === webhookPath;
    const url = await listen(
      (request, response) => {
        if (isFirst && pathOf(request) === webhookPath) void receiver.middleware(request, response);
        else app(request, response);
      },
      { port, host },
    );
    log.info({ url: url + webhookPath, admin_url: adminUrl, role }, "listening");
    return { url: url + webhookPath, adminUrl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts the handlers' process, without the secrets that handlers do not need. */
export function superviseHandlers(
  options: StartOptions & Pick<SupervisorOptions, "onLine"> & { metrics: Metrics },
): Supervisor {
  const { config, store, metrics } = options;
  return startSupervisor({
    ...options,
    environment: () => environmentForHandlers(options.environment()),
    memoryMegabytes: config.handlerMemoryMegabytes,
    watch: options.watchHandlers,
    running: async () => {
      const events = await store.ledger.list({ state: "running" }, { limit: 100 });
      return events.flatMap(({ id, jobs }) =>
        jobs.flatMap(({ handler, state }) => (state === "running" ? [{ handler, id }] : [])),
      );
    },
    onEnded: metrics.handled,
    onDeath: metrics.workerDied,
  });
}

/** The part of SHUTDOWN_TIMEOUT_SECONDS reserved for ending the handlers' process and writing the last log lines. */
const CLOSING_MS = 2_500;

/** How long a scrape waits for counts: Prometheus gives up after 10 s and would get nothing at all. */
const COUNTING_MS = 5_000;

/** A receiver without a port: the parts that take requests and the parts that operate it. */
export type Receiver = Awaited<ReturnType<typeof compose>>;

/**
 * Puts the parts together, by role: `ingest` takes events, `worker` handles them, `all` does both. `startWork` is not called
 * in the role `ingest`.
 */
export async function compose(options: {
  config: Config;
  store: Store;
  clock: Clock;
  log: Log;
  /** Starts a supervised process, or a worker in this one. */
  startWork: (metrics: Metrics) => Promise<Supervisor>;
}) {
  const { config, store, clock, log, startWork } = options;
  const metrics = createMetrics({
    counts: async () => within(COUNTING_MS, store.ledger.counts(), clock),
    clock,
    workerAlive: config.role === "ingest" ? undefined : () => work?.status().state === "working",
  });
  // An app may change its working directory later.
  const databaseFile = config.databaseFile && resolve(config.databaseFile);
  const work = config.role === "ingest" ? undefined : await startWork(metrics);
  const health = createHealth({
    ...config,
    probe: store.intake.probe,
    clock,
    freeBytes: async () => freeBytesFor(databaseFile),
    minimumFreeBytes: config.minimumFreeBytes,
    workerStatus: work?.status,
  });
  const accept: Intake["accept"] = async (batch) => {
    const result = await store.intake.accept(batch);
    if (result.ok) work?.wake();
    return result;
  };
  const inbox = createInbox({
    secrets: config.signingSecrets,
    clock,
    store: createGroupCommit({ accept, clock }),
  });
  const logRequest = createRequestLog({ log, clock, clean: createCleaner(secretsOf(config)) });
  const answer = createWebhook({ ...config, inbox, health, log, logRequest, metrics, clock });
  const unanswered = new Set<Promise<void>>();
  const webhook: Webhook = (request, send) => {
    const answering = answer(request, send);
    unanswered.add(answering);
    return answering.finally(() => unanswered.delete(answering));
  };
  const body = createBodyReader({ ...config, clock });
  const graceMs = Math.max(0, config.shutdownTimeoutMs - CLOSING_MS);

  return {
    middleware: createMiddleware(webhook, body, health.draining),
    /** The parts of `middleware`, for other kinds of request such as those of the Fetch API. */
    webhook,
    body,
    health,
    metrics,
    /** Logs a request that the app answered itself. */
    logRequest,
    /** The state of the handlers; undefined in the role `ingest`. */
    workerStatus: work?.status,
    /** How long requests and handlers may still run after a stop. */
    graceMs,
    /** Takes no more requests; waits at most `graceMs` for running requests and handlers. */
    drain: async () => {
      health.startDraining();
      // Handlers finish at the same time as the last requests: both have the whole grace.
      await Promise.all([within(graceMs, Promise.all(unanswered), clock), work?.stop(graceMs)]);
    },
    /** Closes the database. */
    close: async () => {
      health.stop();
      await store.close();
    },
  };
}
