import { existsSync, readFileSync } from "node:fs";
import type { RequestListener, ServerOptions, ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { setTimeout } from "node:timers";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";

/** Node looks for late clients once a second; its default of 30 s would make the time-outs meaningless. */
const TIMES = { headersTimeout: 5_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000 };
/** How long a client may leave an answer unread. */
const UNREAD_MS = 20_000;
/** Requests of one connection, pipelined or not. The last answer says that it closes the connection. */
const MAXIMUM_REQUESTS = 100;
/** Open connections, unless half of the files that the process may open are fewer. */
const MAXIMUM_CONNECTIONS = 2_048;
/** How long we read on after our last answer. A connection closed earlier is reset, and the answer may be lost. */
const LINGER_MS = 500;
/** In a drain: how long the port stays open, and when idle connections are closed. */
const QUIET_MS = 100;
const IDLE_MS = 400;

/** Answers to what node:http cannot read, by the code of its error. */
const REFUSALS: Readonly<Record<string, [status: string, error: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "request_timeout"],
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "headers_too_large"],
  HPE_INVALID_METHOD: ["405 Method Not Allowed\r\nAllow: POST", "method_not_allowed"],
};
const REQUEST_LINE = /^[\w!#$%&'*+.^`|~-]+ [^ \r\n]+ HTTP\/1\.[01]\r\n/;

/** `waiting` are its responses that are not finished, `requests` how many there were. */
type Connections = Map<Socket, { waiting: Set<ServerResponse>; requests: number }>;
type ParseError = NodeJS.ErrnoException & { rawPacket?: Buffer };
export type Served = { port: number; drain: (graceMs: number) => Promise<void> };

/**
 * Listens with bounds on connections and time, for a program without a proxy in front, and answers in JSON what is not
 * HTTP. Rejects if the port is taken. `drain` closes it, and breaks no request in progress until `graceMs` are over.
 */
export async function serve(
  handle: RequestListener,
  options: Pick<ServerOptions, "headersTimeout" | "requestTimeout" | "keepAliveTimeout"> & {
    port: number;
    host: string;
    maximumConnections?: number;
  },
): Promise<Served> {
  const {
    port,
    host,
    maximumConnections = Math.min(MAXIMUM_CONNECTIONS, openFiles() / 2),
    ...times
  } = options;
  // An import of node:http would load undici as well, a tenth of the time to start.
  const server = process.getBuiltinModule("node:http").createServer({ ...TIMES, ...times });
  /** In the order of the latest answers: the longest idle is first. */
  const connections: Connections = new Map();
  let shut: Promise<void> | undefined;

  server.setTimeout(UNREAD_MS, (socket: Socket) => {
    // A client that waits for our answer is not late.
    if (connections.get(socket)?.waiting.size === 0 || socket.writableLength > 0) socket.destroy();
  });
  server.on("connection", (socket) => {
    socket.once("close", () => connections.delete(socket));
    socket.destroySoon = () => linger(socket);
    connections.set(socket, { waiting: new Set(), requests: 0 });
    if (connections.size <= maximumConnections) return;
    const replaced = leastActive(connections, socket);
    replaced.destroy();
    connections.delete(replaced);
  });
  server.on("request", (request, response) => {
    const { socket } = request;
    const connection = connections.get(socket);
    // Its client sends again what comes after the last answer (RFC 9112 §9.6).
    if (!connection || connection.requests === MAXIMUM_REQUESTS) return discard(socket);
    connection.requests += 1;
    connection.waiting.add(response);
    response.once("close", () => {
      connection.waiting.delete(response);
      // The rest of a body that nobody wants is not parsed either.
      if (!request.complete && !response.shouldKeepAlive) linger(socket);
      if (connections.delete(socket)) connections.set(socket, connection);
    });
    if (shut || connection.requests === MAXIMUM_REQUESTS) response.shouldKeepAlive = false;
    // Answered while the port is open, the client of a drain would come back on a new connection.
    if (shut) void shut.then(() => handle(request, response));
    else handle(request, response);
  });
  server.on("connect", (_request, socket: Socket) => refuse(socket, REFUSALS["HPE_INVALID_METHOD"]));
  server.on("clientError", ({ code = "", rawPacket }: ParseError, socket: Socket) => {
    const isGarbage = code === "HPE_INVALID_METHOD" && !REQUEST_LINE.test(String(rawPacket));
    refuse(socket, isGarbage ? undefined : REFUSALS[code]);
  });
  await new Promise<void>((resolve, reject) => void server.once("error", reject).listen(port, host, resolve));
  const address = server.address();
  return { port: typeof address === "object" && address ? address.port : port, drain };

  /** If earlier requests wait, the connection is closed after their answers, without another one. */
  function refuse(socket: Socket, [status, error] = ["400 Bad Request", "bad_request"]): void {
    const owed = [...(connections.get(socket)?.waiting ?? [])].findLast(({ req }) => req.complete);
    if (owed) owed.once("close", () => linger(socket));
    if (owed || !socket.writable) return;
    const json = JSON.stringify({ error, message: "The request could not be read." });
    const headers = `Connection: close\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${json.length}`;
    socket.write(`HTTP/1.1 ${status}\r\n${headers}\r\n\r\n${json}`);
    linger(socket);
  }

  async function drain(graceMs: number): Promise<void> {
    const shutting = Promise.withResolvers<void>();
    shut = shutting.promise;
    for (const { waiting } of connections.values())
      for (const latest of [...waiting].slice(-1)) latest.shouldKeepAlive = false;
    // Closing the port resets connections that the kernel has accepted and we have not.
    await turn(Math.min(graceMs, QUIET_MS));
    NetServer.prototype.close.call(server);
    shutting.resolve();
    for (let passedMs = QUIET_MS; connections.size > 0 && passedMs < graceMs; passedMs += QUIET_MS) {
      if (passedMs >= IDLE_MS) server.closeIdleConnections();
      await turn(QUIET_MS);
    }
    server.closeAllConnections();
    server.close();
  }
}

/** Closes our side, and destroys the connection soon after, whatever the client does. */
function linger(socket: Socket): void {
  if (!socket.writable) return;
  discard(socket);
  socket.end(() => setTimeout(() => socket.destroy(), LINGER_MS).unref());
}

/** Throws away unparsed what still comes: a parser takes a microsecond for each chunk of a byte, or each short request. */
function discard(socket: Socket): void {
  // node:http takes its parser off the handle when someone else listens.
  socket.on("data", () => undefined).removeAllListeners("data");
  socket.resume();
}

/** The one that has been idle for the longest, or else one that is still sending its request, or else `newest`. */
function leastActive(connections: Connections, newest: Socket): Socket {
  const others = connections
    .entries()
    .filter(([socket]) => socket !== newest)
    .toArray();
  const idle = others.find(([, { waiting }]) => waiting.size === 0);
  const sending = others.find(([, { waiting }]) => ![...waiting].some(({ req }) => req.complete));
  return (idle ?? sending)?.[0] ?? newest;
}

/** Waits, and then a whole turn of the event loop: what had arrived before has been read. */
async function turn(ms: number): Promise<void> {
  await sleep(ms);
  await setImmediate();
}

function openFiles(): number {
  const limits = existsSync("/proc/self/limits") ? readFileSync("/proc/self/limits", "utf8") : "";
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
}
