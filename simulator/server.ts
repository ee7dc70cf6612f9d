import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers";
import { setTimeout as sleep } from "node:timers/promises";
import { hostInUrl, isWildcard } from "../shared/host.ts";
import { createListener } from "../shared/listener/index.ts";
import type { AppOptions, createApp } from "./app.ts";
import type { Simulator } from "./verbs/simulator.ts";
import { type Refused, refused } from "./domain/refused.ts";
import { systemTime } from "./domain/wall-time.ts";

/** How long a client may take to send a request: scenarios and reports come over slow lines, too. */
const REQUEST_TIMEOUT_MS = 30_000;

export type ServerOptions = Omit<AppOptions, "isOwnHost" | "isNetworkHost"> & {
  port: number;
  /** The address to bind to: loopback unless told otherwise. */
  host: string;
};

export type RunningServer = { url: string; port: number; close(): Promise<void> };

export type ListenResult = { ok: true; server: RunningServer } | Refused;

/** Serves the REST API, the dashboard and the control API on one port. */
export async function listen(simulator: Simulator, options: ServerOptions): Promise<ListenResult> {
  const ownHosts = new Set<string>();
  const app = loadOnce(simulator, {
    ...options,
    isOwnHost: (host) => ownHosts.has(host),
    // With a token, machines of the network reach us by whatever name they have for us.
    isNetworkHost: (host) => options.token !== undefined && host !== "" && isWildcard(options.host),
  });
  const { server, drain } = createListener(
    (request, response) => {
      app.get().then(
        (handle) => void handle(request, response),
        (error: unknown) => {
          options.onError(error);
          response.destroy();
        },
      );
    },
    { clock: { ...systemTime, sleep }, requestTimeout: REQUEST_TIMEOUT_MS },
  );
  const problem = await bind(server, options);
  if (problem !== undefined) return refused(problem);
  app.getSoon();

  const { port } = addressOf(server);
  const shownHost = isWildcard(options.host) ? "localhost" : options.host;
  for (const host of ["localhost", "127.0.0.1", "[::1]", hostInUrl(options.host)]) {
    ownHosts.add(`${host}:${port}`);
    if (port === 80) ownHosts.add(host);
  }
  const url = `http://${hostInUrl(shownHost)}:${port}`;
  simulator.setBaseUrl(url);

  // Streams and kept-alive connections would hold it open for ever.
  return { ok: true, server: { url, port, close: async () => drain(0) } };
}

/**
 * The routes take as long to load as the rest of the simulator, so they are loaded once it listens; a request that comes
 * earlier waits for them.
 */
function loadOnce(simulator: Simulator, options: AppOptions) {
  let loading: Promise<ReturnType<typeof createApp>> | undefined;

  function get(): NonNullable<typeof loading> {
    loading ??= import("./app.ts").then((module) => module.createApp(simulator, options));
    return loading;
  }

  return { get, getSoon: (): void => void setImmediate(() => void get().catch(options.onError)) };
}

function bind(server: Server, options: ServerOptions): Promise<string | undefined> {
  return new Promise((resolve) => {
    server.once("error", (error: NodeJS.ErrnoException) => resolve(explainBind(error, options)));
    server.listen({ port: options.port, host: options.host }, () => resolve(undefined));
  });
}

function explainBind(error: NodeJS.ErrnoException, { port, host }: ServerOptions): string {
  if (error.code === "EADDRINUSE") {
    return `Port ${port} on ${host} is taken (another simulator?): stop what runs there, or choose another with --port.`;
  }
  if (error.code === "EACCES")
    return `Port ${port} needs more rights than you have: choose one above 1023 with --port.`;
  if (error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND") {
    return `This machine has no address ${host}: leave --host out to bind to loopback.`;
  }
  return `Cannot listen on ${host}:${port}: ${error.message}.`;
}

function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("A listening server has an address.");
  return address;
}
