import { resolve } from "node:path";
import { within, type Clock } from "./clock.ts";
import type { Config } from "./config.ts";
import { createMiddleware } from "./intake/adapters.ts";
import { createBodyReader } from "./intake/body.ts";
import { createGroupCommit } from "./intake/group-commit.ts";
import { createInbox } from "./intake/inbox.ts";
import { createWebhook, type Webhook } from "./intake/webhook.ts";
import { createHealth, freeBytesFor } from "./operations/health.ts";
import { createRequestLog, type Log } from "./operations/log.ts";
import { createMetrics, type Metrics } from "./operations/metrics.ts";
import { createCleaner, secretsOf } from "./operations/present.ts";

import type { Intake, Store } from "./store/port.ts";
import type { Supervisor } from "./work/supervisor.ts";

/** The part of SHUTDOWN_TIMEOUT_SECONDS that is kept for ending the handlers' process and for the last log lines. */
const CLOSING_MS = 2_500;

/** How long a scrape waits for counts: Prometheus gives up after 10 s, and would have nothing at all. */
const COUNTING_MS = 5_000;

/** A receiver without a port: what takes requests, and what looks after it. */
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
    /** The parts of `middleware`, for requests of another kind, such as the Fetch API's. */
    webhook,
    body,
    health,
    metrics,
    /** Logs a request that the app answered itself. */
    logRequest,
    /** How the handlers are; undefined in the role `ingest`. */
    workerStatus: work?.status,
    /** How long requests and handlers may still run after the receiver was told to stop. */
    graceMs,
    /** Takes nothing more; waits for requests and handlers, for `graceMs` at the most. */
    drain: async () => {
      health.startDraining();
      // Handlers finish while the last requests do: both have the whole time.
      await Promise.all([within(graceMs, Promise.all(unanswered), clock), work?.stop(graceMs)]);
    },
    /** Closes the database. */
    close: async () => {
      health.stop();
      await store.close();
    },
  };
}
