import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { Socket } from "node:net";
import { endSoon } from "../../shared/server.ts";
import type { BodyReader } from "./body.ts";
import { ANSWERS, SIGNATURE_NAME, type Answer, type Webhook } from "./webhook.ts";

/** A request of node:http or node:http2, and what frameworks may have added to it. */
export type NodeRequest = (IncomingMessage | Http2ServerRequest) & {
  body?: unknown;
  rawBody?: unknown;
  originalUrl?: string | undefined;
  route?: unknown;
  id?: unknown;
};

/** What is used of a response of node:http or node:http2. */
export type NodeResponse = {
  readonly headersSent: boolean;
  shouldKeepAlive?: boolean;
  on: (event: "error", listener: () => void) => unknown;
  writeHead: (status: number, headers: Record<string, string>) => unknown;
  end: (body: string, encoding: "latin1") => unknown;
};

/** `(request, response, next)` of node:http, Connect, Express 4 and 5. Resolves when the request has its answer. */
export type Middleware = (
  request: NodeRequest,
  response: NodeResponse,
  next?: (error?: unknown) => void,
) => Promise<void>;

/**
 * Answers requests of node:http and what imitates them, such as injected requests of tests and those of serverless
 * platforms. Every path that comes here is the webhook's, but those below the path of an `app.use(path, …)`, which go on
 * to `next`. The answers of a receiver that is `draining` close their connections.
 */
export function createMiddleware(webhook: Webhook, body: BodyReader, draining: () => boolean): Middleware {
  return async (request, response, next) => {
    const { originalUrl, url, id, method = "" } = request;
    // By `app.use`, and not by a route, which matches whole paths.
    const isMounted = originalUrl !== undefined && request.route === undefined;
    if (next && isMounted && originalUrl !== url && pathOf(request) !== "/") return next();
    // A client that closes its connection before the answer is no error of ours.
    response.on("error", () => undefined);
    return webhook(
      {
        method,
        path: pathOf({ url: originalUrl ?? url }),
        id: typeof id === "string" || typeof id === "number" ? String(id) : undefined,
        signatures: signaturesOf(request),
        header: (name) => {
          const value = request.headers[name];
          return typeof value === "string" ? value : undefined;
        },
        readBody: async () => body.ofNode(request),
        framework: frameworkOf(request),
      },
      (answer) => send(request, response, answer, draining()),
    );
  };
}

/** The path without its query, as it was sent; also of a request that names the whole address. */
export function pathOf({ url = "/" }: { url?: string | undefined }): string {
  const target = url.startsWith("/") ? url : (/^https?:\/\/[^/?#]*(.*)$/i.exec(url)?.[1] ?? url);
  const end = target.indexOf("?");
  return end === -1 ? target : target.slice(0, end);
}

/** Each signature header by itself if the request keeps them apart, as node:http does; imitations have `headers` only. */
function signaturesOf(request: NodeRequest): string[] {
  const distinct = "headersDistinct" in request ? request.headersDistinct[SIGNATURE_NAME] : undefined;
  if (distinct) return distinct;
  const named = Object.entries(request.headers).filter(([name]) => name.toLowerCase() === SIGNATURE_NAME);
  return named.flatMap(([, value]) => value ?? []);
}

function frameworkOf(request: NodeRequest): "express" | "next" | "node" {
  if ("app" in request) return "express";
  return "cookies" in request ? "next" : "node";
}

function send(request: NodeRequest, response: NodeResponse, answer: Answer, isDraining: boolean): void {
  // The app around us may have answered already, such as at a time-out of its own.
  if (response.headersSent) return;
  // Node.js then sends `Connection: close`: what is left of the body must not be read as the next request.
  if (isDraining || !request.complete || answer === ANSWERS.in_pieces) response.shouldKeepAlive = false;
  // It would destroy the connection behind the answer.
  const { socket } = request;
  if (!request.complete && socket instanceof Socket && !Object.hasOwn(socket, "destroySoon"))
    socket.destroySoon = () => endSoon(socket);
  response.writeHead(answer.status, answer.headers);
  response.end(answer.body, "latin1");
}
