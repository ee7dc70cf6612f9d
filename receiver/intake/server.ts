import type { RequestListener, Server, ServerOptions } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import type { Clock } from "../clock.ts";
import { createConnections, type ConnectionLimits } from "./connections.ts";
import { sayFarewell } from "./farewell.ts";
import { parseInPortions } from "./portions.ts";
import { answerProtocolError, refuseTunnel } from "./protocol-errors.ts";

// Imported, it is read export by export, one of which loads all of undici: a tenth of the time to start.
const { createServer } = process.getBuiltinModule("node:http");

/** How long a client may take over its headers, and over the whole request. */
export const HEADERS_TIMEOUT_MS = 5_000;
export const REQUEST_TIMEOUT_MS = 10_000;

/** Node looks for clients that are late this often; its own default of 30 s would make the two above meaningless. */
const CHECK_INTERVAL_MS = 1_000;

const KEEP_ALIVE_MS = 5_000;

export type HttpServer = {
  /** Resolves to the port, also when it was asked for as 0. Rejects when the port is taken. */
  listen: (port: number, host: string) => Promise<number>;
  /**
   * Waits until no new connection comes, shuts the port, and lets requests be finished. Connections that say nothing are
   * cut within some seconds, what is left after `graceMs` at the end of it.
   */
  drain: (graceMs: number) => Promise<void>;
};

/** An HTTP server with bounds on time and connections, whose protocol errors are JSON like every other answer. */
export function createHttpServer(
  options: { app: RequestListener; clock: Clock } & ConnectionLimits &
    Pick<ServerOptions, "headersTimeout" | "requestTimeout">,
): HttpServer {
  const { app, clock } = options;
  const server = createServer({
    headersTimeout: options.headersTimeout ?? HEADERS_TIMEOUT_MS,
    requestTimeout: options.requestTimeout ?? REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // The app asks for it itself, and answers in JSON.
    requireHostHeader: false,
  });
  const connections = createConnections(options);
  server.on("connection", (socket) => {
    connections.admit(socket);
    parseInPortions(socket);
  });
  const handle: RequestListener = (request, response) => {
    if (connections.begin(request, response)) app(request, response);
  };
  // Expectations are the app's as well: whether it wants the body, it knows best.
  server.on("request", handle).on("checkContinue", handle).on("checkExpectation", handle);
  server.on("connect", (_request, socket: Socket) => {
    connections.fail(socket, () => refuseTunnel(socket));
  });
  server.on("clientError", (error, socket: Socket) => {
    connections.fail(socket, () => answerProtocolError(error, socket));
  });

  return {
    listen: async (port, host) =>
      new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen(port, host, () => {
          server.off("error", reject);
          const address = server.address();
          resolve(typeof address === "object" && address ? address.port : port);
        });
      }),
    drain: async (graceMs) => {
      await sayFarewell({ connections, clock, graceMs, shutPort: () => shutPort(server) });
      connections.stop();
    },
  };
}

/** What is connected stays so: the method of the HTTP server would cut idle connections, on which a request may come. */
function shutPort(server: Server): void {
  if (server.listening) NetServer.prototype.close.call(server);
}
