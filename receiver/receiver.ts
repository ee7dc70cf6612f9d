import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { hostInUrl } from "../shared/host.ts";
import { createAdminApp } from "./operations/admin.ts";
import { createApp } from "./intake/app.ts";
import type { Clock } from "./clock.ts";
import type { Config } from "./config.ts";
import type { Engine } from "./engine.ts";
import { createGroupCommit } from "./intake/group-commit.ts";
import { createHealth } from "./operations/health.ts";
import { createInbox } from "./intake/inbox.ts";
import type { Log } from "./operations/log.ts";
import { createMetrics, type Metrics } from "./operations/metrics.ts";
import { createHttpServer, type HttpServer } from "./intake/server.ts";
import { startSupervisor, type Supervisor } from "./work/supervisor.ts";

export type Receiver = {
  /** Where events go; undefined in the role `worker`. */
  url: string | undefined;
  adminUrl: string;
  /** Stops taking events, finishes what is running within SHUTDOWN_TIMEOUT_SECONDS, and closes the database. */
  stop: () => Promise<void>;
};

/** Of the shutdown time-out, what is kept for returning claims and closing files. */
const CLOSING_MS = 1_500;

/** What would let anybody sign events, or ask as an operator; and the port that they have nothing to do with. */
const NOT_FOR_HANDLERS: ReadonlySet<string> = new Set([
  "SIGNING_SECRET",
  "SIGNING_SECRET_FILE",
  "ADMIN_TOKEN",
  "ADMIN_TOKEN_FILE",
  "ADMIN_HOST",
]);

/**
 * Puts the parts together, by role: `ingest` takes events, `worker` handles them in a process of its own, `all` does
 * both. The worker process is supervised from here in either case, so a handler never shares a process with anything
 * that has to answer.
 */
export async function startReceiver(options: {
  config: Config;
  engine: Engine;
  clock: Clock;
  log: Log;
  /** What the worker process gets to see of the environment. */
  environment: NodeJS.ProcessEnv;
  /** Where a debugger of the handlers may connect, such as `127.0.0.1:9229`. */
  inspectHandlers?: string | undefined;
  /** Another worker entry point; for tests. */
  workerFile?: URL;
}): Promise<Receiver> {
  const { config, engine, clock, log } = options;
  const supervisor = config.role === "ingest" ? undefined : superviseWorker(options, () => metrics);
  const metrics = createMetrics({ counts: engine.ledger.counts, workerAlive: supervisor?.alive });
  let storedBytes = 0;
  const health = createHealth({
    probe: engine.intake.probe,
    clock,
    freeBytes: async () => freeBytes(config.databaseFile),
    minimumFreeBytes: config.minimumFreeBytes,
    storedBytes: () => storedBytes,
    // A blocked handler takes no intake out of a load balancer: where there is one, it is a metric and an alert.
    ...(supervisor && config.role === "worker" ? { workerAlive: supervisor.alive } : {}),
  });

  const admin = createHttpServer({
    app: createAdminApp({ ...config, ledger: engine.ledger, health, metrics, log }),
    clock,
  });
  const servers: HttpServer[] = [];

  const stop = async (): Promise<void> => {
    health.startDraining();
    const graceMs = Math.max(0, config.shutdownTimeoutMs - CLOSING_MS);
    // Handlers finish while the last requests do: both have the whole time.
    await Promise.all([...servers.map(async (server) => server.drain(graceMs)), supervisor?.stop(graceMs)]);
    await admin.drain(0);
    health.stop();
    await engine.close();
  };

  try {
    // Starts what commits, so that the first event doesn't wait for it. A disk that is full now may not stay so.
    const probed = await engine.intake.probe();
    if (!probed.ok)
      log.error(
        { reason: probed.reason, detail: probed.detail },
        "the database takes no writes; events are refused until it does",
      );

    const adminPort = await admin.listen(config.adminPort, config.adminHost);
    const adminUrl = `http://${hostInUrl(config.adminHost)}:${String(adminPort)}`;
    if (config.role === "worker") {
      log.info({ admin_url: adminUrl, role: config.role }, "working");
      return { url: undefined, adminUrl, stop };
    }

    const accept: Engine["intake"]["accept"] = async (batch) => {
      const result = await engine.intake.accept(batch);
      for (const [index, { body }] of batch.entries())
        if (result.ok && result.acceptances[index]?.duplicate === false) storedBytes += body.byteLength;
      return result;
    };
    const store = createGroupCommit({ accept, clock });
    const inbox = createInbox({ secrets: config.signingSecrets, clock, store });
    const app = createApp({ ...config, inbox, health, log, metrics, clock });
    const server = createHttpServer({ app, clock });
    const port = await server.listen(config.port, config.host);
    servers.push(server);
    const url = `http://${hostInUrl(config.host)}:${String(port)}${config.webhookPath}`;
    log.info({ url, admin_url: adminUrl, role: config.role }, "listening");
    return { url, adminUrl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function superviseWorker(options: Parameters<typeof startReceiver>[0], metrics: () => Metrics): Supervisor {
  const { config, engine, clock, log } = options;
  const environment = Object.fromEntries(
    Object.entries(options.environment).filter(([name]) => !NOT_FOR_HANDLERS.has(name)),
  );
  return startSupervisor({
    environment,
    handlerTimeoutMs: config.handlerTimeoutMs,
    memoryMegabytes: config.handlerMemoryMegabytes,
    inspect: options.inspectHandlers,
    clock,
    log,
    onReport: (report) => metrics().worker.report(report),
    onDeath: (workerId) => {
      metrics().worker.died();
      // Should this fail, their leases run out by themselves.
      if (workerId !== undefined)
        engine.work
          .release(workerId)
          .catch((error: unknown) => log.warn({ err: error }, "could not release claims"));
    },
    workerFile: options.workerFile,
  });
}

/** Of the disk that events are written to. A database elsewhere says by itself when it is full. */
async function freeBytes(databaseFile: string | undefined): Promise<number> {
  if (databaseFile === undefined) return Number.POSITIVE_INFINITY;
  const { bavail, bsize } = await statfs(dirname(databaseFile));
  return bavail * bsize;
}
