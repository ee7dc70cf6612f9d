import type { RequestListener } from "node:http";
import { hostInUrl } from "../shared/host.ts";
import { serve, type Served } from "../shared/server.ts";
import { createApp } from "./app.ts";
import { compose, type Composed, type ComposeOptions } from "./compose.ts";
import { pathOf } from "./intake/adapters.ts";
import { createAdminApp } from "./operations/admin.ts";

/** The receiver as a service of its own. */
export type Receiver = {
  /** Where events go; undefined in the role `worker`. */
  url: string | undefined;
  adminUrl: string;
  /** Stops taking events, finishes what is running within SHUTDOWN_TIMEOUT_SECONDS, and closes the database. */
  stop: () => Promise<void>;
};

/** Starts what the library starts, with an Express app on PORT for the service, and one on ADMIN_PORT for operators. */
export async function startReceiver(options: ComposeOptions): Promise<Receiver> {
  const { config, engine, clock, log } = options;
  const receiver = await compose(options);
  const listening: { server?: Served; admin?: Served } = {};

  const stop = async (): Promise<void> => {
    await Promise.all([receiver.drain(), listening.server?.drain(receiver.graceMs)]);
    await listening.admin?.drain(0);
    await receiver.close();
  };

  try {
    const admin = createAdminApp({ ...config, ...receiver, ledger: engine.ledger, log, clock });
    const { adminPort, adminHost, host, role, webhookPath } = config;
    listening.admin = await serve(admin, { port: adminPort, host: adminHost });
    const adminUrl = `http://${hostInUrl(adminHost)}:${String(listening.admin.port)}`;
    if (role === "worker") {
      log.info({ admin_url: adminUrl, role }, "working");
      return { url: undefined, adminUrl, stop };
    }
    const handle = webhookFirst(createApp(receiver, { webhookPath, log }), receiver, webhookPath);
    listening.server = await serve(handle, { port: config.port, host, keepAliveTimeout: config.keepAliveMs });
    const url = `http://${hostInUrl(host)}:${String(listening.server.port)}${webhookPath}`;
    log.info({ url, admin_url: adminUrl, role }, "listening");
    return { url, adminUrl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Answers the webhook's exact path without Express where nothing stands in front of it in the app: Express's routing adds
 * about half to the time of an answer.
 */
function webhookFirst(
  app: ReturnType<typeof createApp>,
  { middleware }: Composed,
  webhookPath: string,
): RequestListener {
  if (app.router.stack[0]?.route?.path !== webhookPath) return app;
  return (request, response) => {
    if (pathOf(request) === webhookPath) void middleware(request, response);
    else app(request, response);
  };
}
