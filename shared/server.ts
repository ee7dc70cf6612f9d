import { existsSync, readFileSync } from "node:fs";
import type { RequestListener, ServerOptions, ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { setImmediate, setTimeout } from "node:timers";
import { setTimeout as sleep } from "node:timers/promises";

/** Node checks for late clients once a second; its default of 30 s would make these timeouts meaningless. */
const TIMES = { headersTimeout: 5_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000 };
/** How long a client may leave an answer unread. */
const UNREAD_MS = 20_000;
/** The most requests of one connection, in all and unanswered at a time. The last answer closes the connection. */
const MAXIMUM_REQUESTS = 1_000;
const MAXIMUM_PIPELINED = 8;
/** How much is parsed at a time, and how often in a turn of the event loop: a read of 64 KB may hold 2,000 requests. */
const PORTION_BYTES = 4_096;
const PORTIONS_A_TURN = 16;
/** The most open connections, or half of the files that the process may open if that is fewer. */
const MAXIMUM_CONNECTIONS = 2_048;
/** How long it keeps reading after its last answer. */
const LINGER_MS = 500;
/** In a drain: how long the port stays open, and when idle connections are closed. */
const QUIET_MS = 100;
const IDLE_MS = 400;
/** How many connections the kernel accepts before Node.js does. */
const BACKLOG = 511;

/** Answers to requests that node:http cannot parse, by error code. */
const REFUSALS: Readonly<Record<string, [status: string, error: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "request_timeout"],
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "headers_too_large"],
  HPE_INVALID_METHOD: ["405 Method Not Allowed\r\nAllow: POST", "method_not_allowed"],
};
const REQUEST_LINE = /^[\w!#$%&'*+.^`|~-]+ [^ \r\n]+ HTTP\/1\.[01]\r\n/;

/** `waiting` has the unfinished responses. Once `isOver`, nothing more is parsed from the connection. */
type Connection = { waiting: Set<ServerResponse>; requests: number; isOver: boolean };
type Connections = Map<Socket, Connection>;
type ParseError = NodeJS.ErrnoException & { rawPacket?: Buffer };
export type Served = { port: number; drain: (graceMs: number) => Promise<void> };

/**
 * Listens with limits on connections and time, for a program without a proxy in front, and answers invalid HTTP in JSON.
 * Rejects if the port is taken. `drain` closes the port, and breaks no request in progress within `graceMs`.
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
  // Importing node:http would also load undici, which takes a tenth of the start-up time.
  const server = process.getBuiltinModule("node:http").createServer({ ...TIMES, ...times });
  // A client that has closed its own side still gets its answers.
  Object.assign(server, { httpAllowHalfOpen: true });
  /** Ordered by latest answer: the first has been idle for the longest. */
  const connections: Connections = new Map();
  const parseInPortions = createPortions();
  let accepted = 0;
  let shut: Promise<void> | undefined;

  server.setTimeout(UNREAD_MS, (socket: Socket) => {
    const { bytesRead } = socket;
    // First reads everything that arrived while this process was paused.
    setImmediate(() => {
      // A client that waits for an answer is not late.
      const isOwed = connections.get(socket)?.waiting.size !== 0 && socket.writableLength === 0;
      if (socket.bytesRead === bytesRead && !isOwed) socket.destroy();
    });
  });
  server.on("connection", (socket) => {
    accepted += 1;
    const connection: Connection = { waiting: new Set(), requests: 0, isOver: false };
    connections.set(socket, connection);
    socket.once("close", () => connections.delete(socket));
    socket.destroySoon = () => linger(socket);
    parseInPortions(socket, connection);
    if (connections.size <= maximumConnections) return;
    const replaced = leastActive(connections, socket);
    replaced.destroy();
    connections.delete(replaced);
  });
  server.on("request", (request, response) => {
    const { socket } = request;
    const connection = connections.get(socket);
    if (!connection) return;
    const { waiting } = connection;
    const isLast = (): boolean =>
      waiting.size === MAXIMUM_PIPELINED || connection.requests === MAXIMUM_REQUESTS;
    // Clients repeat requests that were not answered when the connection closed (RFC 9112 §9.6).
    connection.isOver ||= isLast();
    if (connection.isOver) return;
    waiting.add(response);
    connection.requests += 1;
    response.once("close", () => {
      waiting.delete(response);
      // The rest of an unwanted body is not parsed.
      if (!request.complete && !response.shouldKeepAlive) linger(socket);
      if (connections.delete(socket)) connections.set(socket, connection);
    });
    // Not with `maxRequestsPerSocket`: it answers further requests with 503 and leaves the connection open.
    if (shut || isLast()) response.shouldKeepAlive = false;
    // If it were answered while the port is open, the client would come back on a new connection.
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

  function linger(socket: Socket): void {
    const connection = connections.get(socket);
    if (connection) connection.isOver = true;
    endSoon(socket);
  }

  /** If earlier requests are waiting, the connection is closed after their answers, without this one. */
  function refuse(socket: Socket, [status, error] = ["400 Bad Request", "bad_request"]): void {
    const connection = connections.get(socket);
    const owed = [...(connection?.waiting ?? [])].findLast(({ req }) => req.complete);
    if (owed) owed.once("close", () => linger(socket));
    if (connection) connection.isOver = true;
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
    await turn(Math.min(graceMs, QUIET_MS));
    // Closing the port resets connections that only the kernel has accepted: Node accepts one in each turn.
    for (let turns = 0, before = -1; before !== accepted && turns < BACKLOG; turns += 1) {
      before = accepted;
      await turn(0);
    }
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

/**
 * Closes our side of a connection, and destroys it soon after, whatever its client does. Destroying it at once would reset it
 * if something in it is unread, and the client might lose the answer.
 */
export function endSoon(socket: Socket): void {
  if (socket.writable) socket.end(() => setTimeout(() => socket.destroy(), LINGER_MS).unref());
}

/** Makes node:http parse a limited part of the received data in each turn, and nothing once a connection is over. */
function createPortions(): (socket: Socket, connection: Connection) => void {
  let left = PORTIONS_A_TURN;
  let isTurnDue = false;
  /** Connections with more to parse in a later turn, the longest paused first. */
  const paused = new Set<Socket>();
  const nextTurn = (): void => {
    isTurnDue = false;
    left = PORTIONS_A_TURN;
    // Only as many as can be parsed: the others would only be paused again.
    for (const socket of [...paused].slice(0, left)) {
      paused.delete(socket);
      socket.resume();
    }
    if (paused.size > 0) schedule();
  };
  const schedule = (): void => {
    if (!isTurnDue) setImmediate(nextTurn);
    isTurnDue = true;
  };
  return (socket, connection) => {
    const parsers = socket.listeners("data");
    socket.removeAllListeners("data").on("data", (bytes: Buffer): void => {
      for (let at = 0; at < bytes.length; at += PORTION_BYTES) {
        if (connection.isOver || socket.destroyed) return;
        if (left === 0) paused.add(socket.pause());
        // It was paused meanwhile, until an answer or a part of a body has been read.
        if (socket.isPaused()) return socket.unshift(bytes.subarray(at));
        schedule();
        left -= 1;
        for (const parse of parsers) Reflect.apply(parse, socket, [bytes.subarray(at, at + PORTION_BYTES)]);
      }
    });
  };
}

/** The connection that has been idle for the longest; otherwise one that is still sending its request; otherwise `newest`. */
function leastActive(connections: Connections, newest: Socket): Socket {
  const others = [...connections].filter(([socket]) => socket !== newest);
  const idle = others.find(([, { waiting }]) => waiting.size === 0);
  const sending = others.find(([, { waiting }]) => ![...waiting].some(({ req }) => req.complete));
  return (idle ?? sending)?.[0] ?? newest;
}

/** Waits for `ms` and then a whole turn of the event loop, so that all earlier data has been read. */
async function turn(ms: number): Promise<void> {
  await sleep(ms);
  await new Promise((resolve) => setImmediate(resolve));
}

function openFiles(): number {
  const limits = existsSync("/proc/self/limits") ? readFileSync("/proc/self/limits", "utf8") : "";
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
}

/** Whether a program bound to `host` listens on all addresses of its machine. */
export function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/** `host`, a name or an address, as written in a URL: an IPv6 address is in brackets. */
export function hostInUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** Like `hostInUrl`, for reaching a program bound to `host` from its own machine. */
export function localHostInUrl(host: string): string {
  if (!isWildcard(host)) return hostInUrl(host);
  return host === "::" ? "[::1]" : "127.0.0.1";
}
