import type { IncomingMessage, ServerResponse } from "node:http";
import { send } from "./answers.ts";
import type { BodyReader, NodeRequest } from "./body.ts";
import { SIGNATURE_NAME, type Webhook } from "./webhook.ts";

/** `(request, response, next)` of node:http, Connect, Express 4 and 5. Resolves when the request has its answer. */
export type Middleware = (
  request: NodeRequest & { originalUrl?: string | undefined; route?: unknown; id?: unknown },
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => Promise<void>;

/**
 * Answers node:http's requests. Every path that comes here is the webhook's, but those below the path of an
 * `app.use(path, …)`, which go on to `next`. The answers of a receiver that is `draining` close their connections.
 */
export function createMiddleware(webhook: Webhook, body: BodyReader, draining: () => boolean): Middleware {
  return async (request, response, next) => {
    // By `app.use`, and not by a route, which matches whole paths.
    const isMounted = request.originalUrl !== undefined && request.route === undefined;
    if (next && isMounted && request.originalUrl !== request.url && pathOf(request) !== "/") return next();
    // A client that closes its connection before the answer is no error of ours.
    response.on("error", () => undefined);
    const { method = "", headers, id } = request;
    const length = headers["content-length"];
    return webhook(
      {
        method,
        path: pathOf({ url: request.originalUrl ?? request.url }),
        id: typeof id === "string" || typeof id === "number" ? String(id) : undefined,
        signatures: request.headersDistinct[SIGNATURE_NAME] ?? [],
        traceparent: typeof headers["traceparent"] === "string" ? headers["traceparent"] : undefined,
        encoding: headers["content-encoding"],
        announcedBytes: length === undefined ? undefined : Number(length),
        readBody: () => body.ofNode(request),
      },
      (answer) => send(response, answer, { close: draining() }),
    );
  };
}

/** The path without its query, as it was sent; also of a request that names the whole address. */
export function pathOf({ url = "/" }: Pick<IncomingMessage, "url">): string {
  const target = url.startsWith("/") ? url : (/^https?:\/\/[^/?#]*(.*)$/i.exec(url)?.[1] ?? url);
  const end = target.indexOf("?");
  return end === -1 ? target : target.slice(0, end);
}
