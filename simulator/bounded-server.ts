import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { parseInPortions } from "../shared/portions.ts";
import { http } from "./http.ts";

/** Requests of one connection that have no answer yet. */
const MAXIMUM_IN_FLIGHT = 8;

const MAXIMUM_CONNECTIONS = 2_048;
/** How long a client may take over its headers, over a whole request, and over reading an answer. */
const HEADERS_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 30_000;
const UNREAD_TIMEOUT_MS = 20_000;

/** How often Node.js looks for requests that are late. */
const CHECK_INTERVAL_MS = 1_000;

const LIMITS = {
  maximumConnections: MAXIMUM_CONNECTIONS,
  headersTimeoutMs: HEADERS_TIMEOUT_MS,
  requestTimeoutMs: REQUEST_TIMEOUT_MS,
  unreadTimeoutMs: UNREAD_TIMEOUT_MS,
};

/**
 * An HTTP server with bounds on what unknown clients can make it hold: connections, time, unread answers, and requests
 * that are sent without waiting for answers. Of those the first eight are answered, the last of them with
 * `Connection: close`, which says that later ones were not looked at (RFC 9112 §9.6).
 */
export function createBoundedServer(handle: RequestListener, limits: Partial<typeof LIMITS> = {}): Server {
  const { maximumConnections, headersTimeoutMs, requestTimeoutMs, unreadTimeoutMs } = {
    ...LIMITS,
    ...limits,
  };
  const server = http.createServer({
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
  });
  server.maxConnections = maximumConnections;
  server.setTimeout(unreadTimeoutMs, (socket) => {
    // A request that takes us long is none of the client's doing.
    if (socket.writableLength > 0) socket.destroy();
  });
  const inFlight = new WeakMap<Socket, number>();
  /** The last request of each connection that is to end; its body is still read. */
  const lastRequest = new WeakMap<Socket, IncomingMessage>();
  server.on("connection", (socket: Socket) =>
    parseInPortions(socket, () => lastRequest.get(socket)?.complete === true),
  );
  server.on("request", (request, response) => {
    if (begin(request, response)) handle(request, response);
  });
  return server;

  function begin(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    if (lastRequest.has(socket)) return false;
    const count = (inFlight.get(socket) ?? 0) + 1;
    inFlight.set(socket, count);
    response.once("close", () => inFlight.set(socket, (inFlight.get(socket) ?? 1) - 1));
    if (count === MAXIMUM_IN_FLIGHT) {
      lastRequest.set(socket, request);
      response.shouldKeepAlive = false;
    }
    return true;
  }
}
