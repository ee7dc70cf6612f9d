import express, { type Express } from "express";
import type { Receiver } from "./receiver.ts";
import { pathOf } from "./intake/adapters.ts";
import { answerErrors, healthRoutes } from "./operations/admin.ts";
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
  app.use(answerErrors(log));
  return app;
}
