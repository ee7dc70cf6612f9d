import { Router, type Response } from "express";
import { z } from "zod";
import { DELIVERY_STATES, type Delivery } from "../domain/deliveries.ts";
import type { Simulator } from "../simulator.ts";
import { answerError, answerList, readQuery } from "./answers.ts";
import { pageSchema } from "./schemas.ts";
import { deliveryDetailView, deliveryView } from "./views.ts";

const listSchema = pageSchema.extend({
  endpoint_id: z.string().optional(),
  event_id: z.string().optional(),
  state: z.enum(DELIVERY_STATES).optional(),
});

/** Deliveries: look at them and their attempts, send one again, make the next attempt now. */
export function deliveryRoutes(simulator: Simulator): Router {
  const { deliveries, emitter, dispatcher, clock, endpoints } = simulator;
  const router = Router();

  router.get("/deliveries", (request, response) => {
    const query = readQuery(listSchema, request, response);
    if (query === undefined) return;
    const { limit, endpoint_id: endpointId, event_id: eventId, state, starting_after: cursor } = query;
    const before = cursor === undefined ? undefined : findDelivery(cursor, response);
    if (cursor !== undefined && before === undefined) return;
    const page = deliveries.list({
      limit: limit + 1,
      ...(endpointId !== undefined && { endpointId }),
      ...(eventId !== undefined && { eventId }),
      ...(state !== undefined && { state }),
      ...(before !== undefined && { before: before.seq }),
    });
    const data = page.slice(0, limit).map((delivery) => deliveryView(simulator, delivery));
    answerList(response, data, { has_more: page.length > limit });
  });

  router.get("/deliveries/:id", (request, response) => {
    const delivery = findDelivery(request.params.id, response);
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
    const resent = deliveries.find(emitter.resend(delivery));
    if (resent) response.status(202).json(deliveryView(simulator, resent));
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
    response.status(202).json(deliveryView(simulator, deliveries.find(delivery.id) ?? delivery));
  });

  function findDelivery(id: string, response: Response): Delivery | undefined {
    const delivery = deliveries.find(id);
    if (!delivery) answerError(response, 404, "not_found", `There is no delivery ${JSON.stringify(id)}.`);
    return delivery;
  }

  return router;
}
