import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { Socket } from "node:net";
import { endSoon } from "../../shared/server.ts";
import type { BodyReader } from "./body.ts";
import { ANSWERS, SIGNATURE_NAME, type Answer, type Webhook } from "./webhook.ts";

/** A request of node:http or node:http2, with the fields that frameworks may add. */
export type NodeRequest = (IncomingMessage | Http2ServerRequest) & {
  body?: unknown;
  rawBody?: unknown;
  originalUrl?: string | undefined;
  route?: unknown;
  id?: unknown;
};

/** The parts of a node:http or node:http2 response that are used. */
export type NodeResponse = {
  readonly headersSent: boolean;
  shouldKeepAlive?: boolean;
  on: (event: "error", listener: () => void) => unknown;
  writeHead: (status: number, headers: Record<string, string>) => unknown;
  end: (body: string, encoding: "latin1") => unknown;
};

/** `(request, response, next)` of node:http, Connect, Express 4 and 5. Resolves when the request has been answered. */
export type Middleware = (
  request: NodeRequest,
  response: NodeResponse,
  next?: (error?: unknown) => void,
) => Promise<void>;

/**
 * Answers requests of node:http and imitations of them, such as injected test requests and those of serverless platforms.
 * Every path counts as the webhook's, except paths below that of an `app.use(path, …)`: those go on to `next`. While the
 * receiver is `draining`, answers close their connections.
 */
export function createMiddleware(webhook: Webhook, body: BodyReader, draining: () => boolean): Middleware {
  return async (request, response, next) => {
    const { originalUrl, url, id, method = "" } = request;
    // Mounted with `app.use`, not with a route, which matches whole paths.
    const isMounted = originalUrl !== undefined && request.route === undefined;
    if (next && isMounted && originalUrl !== url && pathOf(request) !== "/") return next();
    // If a client closes its connection before the answer, that is not our error.
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

/** The path without its query, as it was sent, even if the request names the whole URL. */
export function pathOf({ url = "/" }: { url?: string | undefined }): string {
  const target = url.startsWith("/") ? url : (/^https?:\/\/[^/?#]*(.*)$/i.exec(url)?.[1] ?? url);
  const end = target.indexOf("?");
  return end === -1 ? target : target.slice(0, end);
}

/** Each signature header separately if the request keeps them apart, as node:http does; imitations only have `headers`. */
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
  // The app may have answered already, for example at a timeout of its own.
  if (response.headersSent) return;
  // Makes Node.js send `Connection: close`, so that the rest of the body is not read as the next request.
  if (isDraining || !request.complete || answer === ANSWERS.in_pieces) response.shouldKeepAlive = false;
  // Node.js would destroy the connection right after the answer, and the client might lose the answer.
  const { socket } = request;
  if (!request.complete && socket instanceof Socket && !Object.hasOwn(socket, "destroySoon"))
    socket.destroySoon = () => endSoon(socket);
  response.writeHead(answer.status, answer.headers);
  response.end(answer.body, "latin1");
}
