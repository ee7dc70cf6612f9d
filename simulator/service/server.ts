import { setImmediate } from "node:timers";
import { hostInUrl, isWildcard, serve, type Served } from "../../shared/server.ts";
import type { AppOptions, createApp } from "./app.ts";
import type { Simulator } from "../verbs/simulator.ts";
import { type Refused, refused } from "../domain/refused.ts";

/** How long a client may take to send a request, since scenarios may come over slow connections. */
const REQUEST_TIMEOUT_MS = 30_000;

export type ServerOptions = Omit<AppOptions, "isOwnHost" | "isNetworkHost"> & { port: number; host: string };

export type RunningServer = { url: string; port: number; close(): Promise<void> };

export type ListenResult = { ok: true; server: RunningServer } | Refused;

export async function listen(simulator: Simulator, options: ServerOptions): Promise<ListenResult> {
  const ownHosts = new Set<string>();
  let isClosing = false;
  // A request that a stop interrupts fails at the closed database, which is no bug.
  const onError = (error: unknown) => {
    if (!isClosing) options.onError(error);
  };
  const app = loadOnce(simulator, {
    ...options,
    onError,
    isOwnHost: (host) => ownHosts.has(host),
    // With a token, machines of the network may use any name.
    isNetworkHost: (host) => options.token !== undefined && host !== "" && isWildcard(options.host),
  });
  let served: Served;
  try {
    served = await serve(
      (request, response) => {
        app.get().then(
          (handle) => void handle(request, response),
          (error: unknown) => {
            onError(error);
            response.destroy();
          },
        );
      },
      { port: options.port, host: options.host, requestTimeout: REQUEST_TIMEOUT_MS },
    );
  } catch (error) {
    return refused(explainBind(error, options));
  }
  app.getSoon();

  const { port, drain } = served;
  const shownHost = isWildcard(options.host) ? "localhost" : options.host;
  for (const host of ["localhost", "127.0.0.1", "[::1]", hostInUrl(options.host).toLowerCase()]) {
    ownHosts.add(`${host}:${port}`);
    if (port === 80) ownHosts.add(host);
  }
  const url = `http://${hostInUrl(shownHost)}:${port}`;
  simulator.setBaseUrl(url);

  // Streams and kept-alive connections would keep it open forever.
  const close = async () => {
    isClosing = true;
    await drain(0);
  };
  return { ok: true, server: { url, port, close } };
}

/** Loads the routes, which take as long as the rest of the simulator, once it listens; requests wait for them. */
function loadOnce(simulator: Simulator, options: AppOptions) {
  let loading: Promise<ReturnType<typeof createApp>> | undefined;

  function get(): NonNullable<typeof loading> {
    loading ??= import("./app.ts").then((module) => module.createApp(simulator, options));
    return loading;
  }

  return { get, getSoon: (): void => void setImmediate(() => void get().catch(options.onError)) };
}

function explainBind(error: unknown, { port, host }: ServerOptions): string {
  if (!(error instanceof Error)) throw error;
  const code = "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE")
    return `Port ${port} on ${host} is taken (another simulator?): stop what runs there, or choose another with --port.`;
  if (code === "EACCES") return `Port ${port} needs more rights: choose one above 1023 with --port.`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return `This machine has no address ${host}: leave --host out to bind to loopback.`;
  return `Cannot listen on ${host}:${port}: ${error.message}.`;
}
