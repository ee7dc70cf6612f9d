import { hostInUrl, serve, type Served } from "../shared/server.ts";
import { createApp } from "./app.ts";
import type { Clock } from "./clock.ts";
import { compose, type Receiver } from "./compose.ts";
import { environmentForHandlers, type Config } from "./config.ts";
import { pathOf } from "./intake/adapters.ts";
import { createAdminApp } from "./operations/admin.ts";
import type { Log } from "./operations/log.ts";
import type { Metrics } from "./operations/metrics.ts";
import type { Store } from "./store/port.ts";
import { startSupervisor, type Supervisor } from "./work/supervisor.ts";

export type Started = Awaited<ReturnType<typeof startReceiver>>;

export type StartOptions = {
  config: Config;
  store: Store;
  clock: Clock;
  log: Log;
  /** The environment of the handlers' process, asked at each start of it; secrets that handlers need not know are left out. */
  environment: () => NodeJS.ProcessEnv;
  /** The module of the handlers, if it is not receiver/handlers. */
  handlersModule?: URL | undefined;
  /** Start the handlers anew when one of their files changes. */
  watchHandlers?: boolean | undefined;
};

/** Starts the receiver as a service of its own: an Express app on PORT, one for operators on ADMIN_PORT, and the handlers. */
export async function startReceiver(options: StartOptions) {
  const { config, store, clock, log } = options;
  const receiver = await compose({
    ...options,
    startWork: async (metrics) => superviseHandlers({ ...options, metrics }),
  });
  let [server, admin]: (Served | undefined)[] = [];

  /** Stops taking events, finishes what runs within SHUTDOWN_TIMEOUT_SECONDS, and closes the database. */
  const stop = async (): Promise<void> => {
    await Promise.all([receiver.drain(), server?.drain(receiver.graceMs)]);
    await admin?.drain(0);
    await receiver.close();
  };

  try {
    const { adminPort, adminHost, host, port, role, webhookPath } = config;
    const keepAliveTimeout = config.keepAliveMs;
    const adminApp = createAdminApp({ ...config, ...receiver, ledger: store.ledger, log, clock });
    admin = await serve(adminApp, { port: adminPort, host: adminHost, keepAliveTimeout });
    const adminUrl = `http://${hostInUrl(adminHost)}:${String(admin.port)}`;
    if (role === "worker") {
      log.info({ admin_url: adminUrl, role }, "working");
      return { url: undefined, adminUrl, stop };
    }
    server = await serve(webhookFirst(receiver, { webhookPath, log }), { port, host, keepAliveTimeout });
    const url = `http://${hostInUrl(host)}:${String(server.port)}${webhookPath}`;
    log.info({ url, admin_url: adminUrl, role }, "listening");
    return { url, adminUrl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Answers the webhook's exact path without Express if nothing stands in front of it in the app: Express's routing adds about
 * half to the time of an answer.
 */
function webhookFirst(
  receiver: Receiver,
  options: Parameters<typeof createApp>[1],
): Parameters<typeof serve>[0] {
  const app = createApp(receiver, options);
  if (app.router.stack[0]?.route?.path !== options.webhookPath) return app;
  return (request, response) => {
    if (pathOf(request) === options.webhookPath) void receiver.middleware(request, response);
    else app(request, response);
  };
}

/** Starts the process of the handlers. It gets the environment without the secrets that handlers need not know. */
export function superviseHandlers(options: StartOptions & { metrics: Metrics }): Supervisor {
  const { config, store, metrics } = options;
  return startSupervisor({
    ...options,
    environment: () => environmentForHandlers(options.environment()),
    memoryMegabytes: config.handlerMemoryMegabytes,
    watch: options.watchHandlers,
    running: async () => runningJobs(store),
    onEnded: metrics.handled,
    onDeath: metrics.workerDied,
  });
}

async function runningJobs({ ledger }: Store): Promise<{ handler: string; id: string }[]> {
  const events = await ledger.list({ state: "running" }, { limit: 100 });
  return events.flatMap(({ id, jobs }) =>
    jobs.flatMap(({ handler, state }) => (state === "running" ? [{ handler, id }] : [])),
  );
}
