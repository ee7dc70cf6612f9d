import express, { type ErrorRequestHandler, type Express } from "express";
import type { Receiver } from "./receiver.ts";
import { pathOf } from "./intake/adapters.ts";
import { healthRoutes } from "./operations/admin.ts";
import type { Log } from "./operations/log.ts";

/** Everything that answers on PORT, from top to bottom. The app is yours: add what your service needs. */
export function createApp(
  { middleware, health, logRequest }: Pick<Receiver, "middleware" | "health" | "logRequest">,
  { webhookPath, log }: { webhookPath: string; log: Log },
): Express {
  const app = express();
  app.disable("x-powered-by");
  app.enable("case sensitive routing");
  app.enable("strict routing");

  // Your own middleware for every request. No body parser here: it would consume the webhook's bytes. A `request.id` set here
  // reaches the log, the event and its handlers.

  // The webhook: verified, stored, acknowledged.
  app.all(webhookPath, middleware);

  // Health, for load balancers and containers.
  app.use(healthRoutes(health));

  // Your own routes, with express.json() and anything else they need.

  // Everything else.
  app.use((request, response) => {
    logRequest({ method: request.method, path: pathOf(request), status: 404 });
    response.status(404).json({ error: "not_found", message: `Send events to ${webhookPath}.` });
  });
  app.use(((error: unknown, _request, response, next) => {
    // If Express could not read the request, such as a body that is not JSON, the client made a mistake.
    if (error instanceof Error && "status" in error && Number(error.status) < 500 && !response.headersSent)
      return response.status(Number(error.status)).json({ error: "invalid_request", message: error.message });
    log.error({ err: error }, "a request failed");
    if (response.headersSent) return next(error);
    response.status(500).json({ error: "server_error", message: "The request failed. Its log says why." });
  }) satisfies ErrorRequestHandler);
  return app;
}
