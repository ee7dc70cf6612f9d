import { Router, type Response } from "express";
import { z } from "zod";
import { DELIVERY_STATES, type Delivery } from "../domain/deliveries.ts";
import type { Simulator } from "../simulator.ts";
import { answerError, answerPage, readQuery } from "./answers.ts";
import { pageSchema } from "./schemas.ts";
import { countsView, deliveryDetailView, deliveryView } from "./views.ts";

const listSchema = pageSchema.extend({
  endpoint_id: z.string().optional(),
  event_id: z.string().optional(),
  state: z.enum(DELIVERY_STATES).optional(),
  type: z.string().optional(),
});

/** Deliveries: look at them and their attempts, send one again, make the next attempt now. */
export function deliveryRoutes(simulator: Simulator): Router {
  const { deliveries, deliverySummaries, emitter, dispatcher, clock, endpoints } = simulator;
  const router = Router();

  router.get("/deliveries", (request, response) => {
    const query = readQuery(listSchema, request, response);
    if (query === undefined) return;
    const { limit, endpoint_id: endpointId, event_id: eventId, state, type, q: text } = query;
    const after = query.starting_after;
    if (after !== undefined && findDelivery(after, response) === undefined) return;
    const page = deliverySummaries.page({ limit, after, endpointId, eventId, state, type, text });
    answerPage(response, page.deliveries.map(deliveryView), page.next);
  });

  router.get("/deliveries/:id", (request, response) => {
    const delivery = findDelivery(request.params.id, response) && deliverySummaries.find(request.params.id);
    if (delivery) response.json(deliveryDetailView(simulator, delivery));
  });

  router.post("/deliveries/:id/resend", (request, response) => {
    const delivery = findDelivery(request.params.id, response);
    if (!delivery) return;
    if (!endpoints.find(delivery.endpointId)) {
      return answerError(
        response,
        409,
        "endpoint_deleted",
        `The endpoint ${delivery.endpointId} was deleted: register it again.`,
      );
    }
    answerSummary(emitter.resend(delivery), response);
  });

  router.post("/deliveries/:id/attempt", (request, response) => {
    const delivery = findDelivery(request.params.id, response);
    if (!delivery) return;
    if (delivery.nextAttemptAtMs === null) {
      const why = delivery.state === "attempting" ? "its attempt is under way" : `it is ${delivery.state}`;
      return answerError(response, 409, "nothing_due", `No attempt of ${delivery.id} waits: ${why}.`);
    }
    deliveries.hurry(delivery.id, clock.now());
    dispatcher.wake();
    answerSummary(delivery.id, response);
  });

  router.get("/counts", (_request, response) => void response.json(countsView(simulator)));

  function answerSummary(id: string, response: Response): void {
    const delivery = deliverySummaries.find(id);
    if (delivery) response.status(202).json(deliveryView(delivery));
  }

  function findDelivery(id: string, response: Response): Delivery | undefined {
    const delivery = deliveries.find(id);
    if (!delivery) answerError(response, 404, "not_found", `There is no delivery ${JSON.stringify(id)}.`);
    return delivery;
  }

  return router;
}
