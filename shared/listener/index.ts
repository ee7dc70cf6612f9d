import type { IncomingMessage, RequestListener, Server, ServerOptions, ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { createConnections, type Clock, type ConnectionLimits } from "./connections.ts";
import { drain } from "./drain.ts";
import { parseInPortions } from "./portions.ts";
import { ERRORS, answerError, errorOf } from "./protocol-errors.ts";

// Imported, it is read export by export, one of which loads all of undici: a tenth of the time to start.
const { createServer } = process.getBuiltinModule("node:http");

/** How long a client may take over its headers, and over the whole request. */
export const HEADERS_TIMEOUT_MS = 5_000;
export const REQUEST_TIMEOUT_MS = 10_000;

/** Node looks for clients that are late this often; its own default of 30 s would make the two above meaningless. */
const CHECK_INTERVAL_MS = 1_000;

const KEEP_ALIVE_MS = 5_000;
/** How long a client may leave an answer unread. */
const UNREAD_MS = 20_000;

/**
 * The HTTP server for a program that faces the internet without a proxy: bounds on connections, time and pipelined
 * requests, an end that breaks no request, and protocol errors as JSON. The receiver knows this folder by one line of
 * receiver/receiver.ts; without it the server is node:http's own.
 */
export function createListener(
  handle: RequestListener,
  options: { clock: Clock } & ConnectionLimits & Pick<ServerOptions, "headersTimeout" | "requestTimeout">,
): { server: Server; drain: (graceMs: number) => Promise<void> } {
  const { clock } = options;
  const server = createServer({
    headersTimeout: options.headersTimeout ?? HEADERS_TIMEOUT_MS,
    requestTimeout: options.requestTimeout ?? REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Answered here, in JSON.
    requireHostHeader: false,
  });
  const connections = createConnections(options);
  server.setTimeout(UNREAD_MS, (socket: Socket) => {
    // A client that waits for our answer is not late.
    const isOurTurn = connections.all.get(socket)?.inFlight !== 0 && socket.writableLength === 0;
    if (!isOurTurn) connections.cut(socket);
  });
  let shutting: Promise<void> | undefined;

  server.on("connection", (socket) => {
    connections.admit(socket);
    parseInPortions(socket, () => connections.isEnding(socket));
  });
  server.on("request", (request, response) => {
    const { socket, headers, httpVersion } = request;
    if (headers.host === undefined && httpVersion === "1.1")
      return connections.fail(socket, () => answerError(socket, ERRORS.hostMissing));
    if (!connections.begin(request, response)) return;
    // Handled only once the port is shut: a client with an answer would come back on a new connection, and so on for ever.
    if (shutting) void shutting.then(() => handle(request, response));
    else handle(request, response);
  });
  server.on("checkExpectation", ({ socket }: IncomingMessage, _response: ServerResponse) => {
    connections.fail(socket, () => answerError(socket, ERRORS.expectation));
  });
  server.on("connect", (_request, socket: Socket) => {
    connections.fail(socket, () => answerError(socket, ERRORS.connect));
  });
  server.on("clientError", (error, socket: Socket) => {
    connections.fail(socket, () => answerError(socket, errorOf(error)));
  });

  return {
    server,
    drain: async (graceMs) => {
      const shut = Promise.withResolvers<void>();
      shutting = shut.promise;
      const shutPort = (): void => {
        // The method of the HTTP server would cut idle connections, on which a request may come.
        if (server.listening) NetServer.prototype.close.call(server);
        shut.resolve();
      };
      await drain({ connections, clock, graceMs, shutPort });
      // Without connections it cuts nothing, and ends what node:http began for them.
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
