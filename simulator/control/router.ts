import { Router } from "express";
import type { Simulator } from "../verbs/simulator.ts";
import { answerError, answerRefusals, jsonBody } from "./answers.ts";
import { clockRoutes } from "./clock.ts";
import { deliveryRoutes } from "./deliveries.ts";
import { endpointRoutes, receiverRoutes } from "./endpoints.ts";
import { eventRoutes, eventTypeRoutes } from "./events.ts";
import { manyRoutes } from "./many.ts";
import { verificationRoutes } from "./reports.ts";
import { scenarioRoutes, worldRoutes } from "./world.ts";
import { streamRoutes } from "./stream.ts";

const LARGEST_BODY_BYTES = 10 * 1024 * 1024;

/** The control API: everything that the dashboard and the commands do with a running simulator. JSON, snake_case. */
export function createControl(simulator: Simulator): Router {
  const router = Router({ caseSensitive: true });
  router.use((_request, response, next) => {
    response.set({ "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store" });
    next();
  });
  router.use(jsonBody(LARGEST_BODY_BYTES));
  endpointRoutes(router, simulator);
  receiverRoutes(router, simulator);
  eventRoutes(router, simulator);
  eventTypeRoutes(router);
  deliveryRoutes(router, simulator);
  clockRoutes(router, simulator);
  streamRoutes(router, simulator);
  worldRoutes(router, simulator);
  scenarioRoutes(router, simulator);
  verificationRoutes(router, simulator);
  manyRoutes(router);
  router.use((request, response) => {
    answerError(response, "not_found", `There is no ${request.method} ${request.baseUrl}${request.path}.`);
  });
  router.use(answerRefusals);
  return router;
}
