import { createServer, type Server, type ServerOptions } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import type { RequestListener } from "node:http";
import type { Clock } from "../clock.ts";

/** How long a client may take over its headers, and over the whole request. */
export const HEADERS_TIMEOUT_MS = 5_000;
export const REQUEST_TIMEOUT_MS = 10_000;

/** Node looks for clients that are late this often; its own default of 30 s would make the two above meaningless. */
const CHECK_INTERVAL_MS = 1_000;

const KEEP_ALIVE_MS = 5_000;

/** The port is shut once nobody has knocked for this long, or after so long at the latest. */
const QUIET_MS = 200;
const LONGEST_FAREWELL_MS = 3_000;
const MAXIMUM_CONNECTIONS = 4_096;

export type HttpServer = {
  /** Resolves to the port, also when it was asked for as 0. Rejects when the port is taken. */
  listen: (port: number, host: string) => Promise<number>;
  /**
   * Waits until no new connection comes, shuts the port, and waits for the connections there are: requests are finished,
   * idle ones get the time that their keep-alive promised them. What is left after `graceMs` is cut.
   */
  drain: (graceMs: number) => Promise<void>;
};

/** An HTTP server with bounds on time and connections, whose protocol errors are JSON like every other answer. */
export function createHttpServer(
  options: { app: RequestListener; clock: Clock } & Pick<ServerOptions, "headersTimeout" | "requestTimeout">,
): HttpServer {
  const server = createServer(
    {
      headersTimeout: options.headersTimeout ?? HEADERS_TIMEOUT_MS,
      requestTimeout: options.requestTimeout ?? REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    options.app,
  );
  server.maxConnections = MAXIMUM_CONNECTIONS;
  server.on("clientError", answerProtocolError);
  let knockedAtMs = Number.NEGATIVE_INFINITY;
  server.on("connection", () => {
    knockedAtMs = options.clock.monotonicMs();
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
      const endMs = options.clock.monotonicMs() + graceMs;
      await farewell(graceMs);
      await drain(server, Math.max(0, endMs - options.clock.monotonicMs()), options.clock);
    },
  };

  /**
   * Goes on answering new connections (with 503, by then) until they cease. Shutting the port resets those that the
   * kernel has accepted and we have not, and their clients would see a broken request.
   */
  async function farewell(graceMs: number): Promise<void> {
    const untilMs = options.clock.monotonicMs() + Math.min(graceMs / 3, LONGEST_FAREWELL_MS);
    for (;;) {
      const nowMs = options.clock.monotonicMs();
      const waitMs = Math.min(knockedAtMs + QUIET_MS, untilMs) - nowMs;
      if (waitMs <= 0) return;
      await options.clock.sleep(waitMs);
    }
  }
}

const PROTOCOL_ERRORS: Record<string, { status: string; error: string; message: string }> = {
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: "408 Request Timeout",
    error: "request_timeout",
    message: "The request took too long to arrive.",
  },
  HPE_HEADER_OVERFLOW: {
    status: "431 Request Header Fields Too Large",
    error: "headers_too_large",
    message: "The headers are too large.",
  },
};

function answerProtocolError(error: NodeJS.ErrnoException, socket: Socket): void {
  // Gone, or in the middle of another answer: there is nothing to say.
  if (
    !socket.writable ||
    error.code === "ECONNRESET" ||
    (socket.bytesWritten > 0 && error.code !== "ERR_HTTP_REQUEST_TIMEOUT")
  ) {
    socket.destroy();
    return;
  }
  const known = PROTOCOL_ERRORS[error.code ?? ""];
  const { status, ...body } = known ?? {
    status: "400 Bad Request",
    error: "bad_request",
    message: "This is not HTTP.",
  };
  const json = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${String(Buffer.byteLength(json))}\r\n\r\n${json}`,
  );
}

async function drain(server: Server, graceMs: number, clock: Clock): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.once("close", resolve));
  // In the check phase, right after the loop has accepted whatever was waiting. And by the method of the plain server:
  // the one for HTTP would at once cut idle connections, on which a client may be sending its next request.
  setImmediate(() => NetServer.prototype.close.call(server));
  const patience = new AbortController();
  const gone = closed.then(() => patience.abort());
  await Promise.race([
    gone,
    clock.sleep(Math.min(graceMs, KEEP_ALIVE_MS + CHECK_INTERVAL_MS), patience.signal),
  ]);
  server.closeIdleConnections();
  await Promise.race([
    gone,
    clock.sleep(Math.max(0, graceMs - KEEP_ALIVE_MS - CHECK_INTERVAL_MS), patience.signal),
  ]);
  server.closeAllConnections();
}
