import {
  type ErrorRequestHandler,
  type Request,
  type RequestHandler,
  type Response,
  Router,
  type Router as RouterType,
} from "express";
import type { Organization } from "../../shared/events.ts";
import type { Readings } from "../domain/readings.ts";
import type { World } from "../domain/world/world.ts";
import { type Answer, refusal } from "./answer.ts";
import { type ApiRequest, createResources } from "./resources.ts";
import type { ReadyAnswer } from "./page-cache.ts";

const BEARER = /^Bearer +(\S+) *$/i;

/** The REST API of the service, for /api/v1 (SPEC §4). `onError` gets bugs; the caller gets none of their details. */
export function createApi(options: {
  world: World;
  readings: () => Readings;
  onError?: (error: unknown) => void;
}): RouterType {
  const { world, readings } = options;
  const endpoints = createResources({ world, readings });
  const router = Router({ caseSensitive: true, strict: true });

  function serve(endpoint: (request: ApiRequest) => Answer | ReadyAnswer, needsScope = true): RequestHandler {
    return (request, response) => {
      const organization = authenticate(world, request);
      if (organization === undefined) return unauthorized(request, response);
      if (needsScope && !organization.api_scopes.includes("read")) return send(response, NO_SCOPE);
      const query = new URL(request.url, "http://localhost").searchParams;
      return send(response, endpoint({ organization, query, id: String(request.params["id"] ?? "") }));
    };
  }

  for (const [path, endpoint] of Object.entries(endpoints.documented)) {
    // Any key may ask for its owner (SPEC §4 GET /api/v1/me).
    router
      .route(path)
      .get(serve(endpoint, path !== "/me"))
      .all(refuseMethod);
  }
  for (const [path, endpoint] of Object.entries(endpoints.single)) {
    router
      .route(path)
      .all((_request, _response, next) =>
        next(readings().single_item_paths === "present" ? undefined : "route"),
      )
      .get(serve(endpoint))
      .all(refuseMethod);
  }
  router.use((request, response) => {
    const known = Object.keys(endpoints.documented).map((path) => `${request.baseUrl}${path}`);
    send(
      response,
      refusal("not_found", `There is no ${request.baseUrl}${request.path}, only ${known.join(", ")}.`),
    );
  });
  const failSafely: ErrorRequestHandler = (error: unknown, _request, response, next) => {
    options.onError?.(error);
    if (response.headersSent) return next(error);
    // A path that cannot be decoded is the caller's mistake.
    return send(
      response,
      error instanceof URIError ? refusal("not_found", "The path cannot be decoded.") : INTERNAL_FAILURE,
    );
  };
  router.use(failSafely);
  return router;
}

const INTERNAL_FAILURE = refusal("server_error", "Something went wrong on our side. Please try again later.");

/** The answer to a key without the scope `read`: neither its code nor its status is published (SPEC §7 Gaps). */
const NO_SCOPE = refusal(
  "insufficient_scope",
  "This key lacks the scope read: GET /api/v1/me shows its scopes.",
);

function authenticate(world: World, request: Request): Organization | undefined {
  const [, apiKey] = BEARER.exec(request.headers.authorization ?? "") ?? [];
  return apiKey === undefined ? undefined : world.organizationOfKey(apiKey);
}

function unauthorized(request: Request, response: Response): void {
  response.set("WWW-Authenticate", "Bearer");
  const message =
    request.headers.authorization === undefined
      ? "The API key is missing. Send the header Authorization: Bearer <API_KEY>."
      : "The API key is not valid. Send the header Authorization: Bearer <API_KEY> with a key of this service.";
  send(response, refusal("unauthorized", message));
}

const refuseMethod: RequestHandler = (request, response) => {
  const message = `${request.method} is not allowed: this API is read-only.`;
  send(response.set("Allow", "GET, HEAD"), refusal("method_not_allowed", message));
};

function send(response: Response, answer: Answer | ReadyAnswer): void {
  if ("bytes" in answer) response.set("ETag", answer.etag).type("json").send(answer.bytes);
  else response.status(answer.status).json(answer.body);
}
