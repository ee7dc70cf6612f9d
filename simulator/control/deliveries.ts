import { Router, type Response } from "express";
import { z } from "zod";
import { DELIVERY_STATES } from "../domain/outcome.ts";
import { VERDICT_RESULTS } from "../domain/verdict.ts";
import type { Simulator } from "../simulator.ts";
import { answerPage, answerRefusal, readBody, readQuery } from "./answers.ts";
import { pageSchema } from "./schemas.ts";
import { countsView, deliveryDetailView, deliveryView } from "./views.ts";

const listSchema = pageSchema.extend({
  endpoint_id: z.string().optional(),
  event_id: z.string().optional(),
  state: z.enum(DELIVERY_STATES).optional(),
  type: z.string().optional(),
  verdict: z.enum(VERDICT_RESULTS).optional(),
});

const resendSchema = z.strictObject({ endpoint_id: z.string().optional() });
const signSchema = z.strictObject({ attempt: z.int().min(1).max(6) });

/** Deliveries: look at them and their attempts, send one again, make the next attempt now. */
export function deliveryRoutes(simulator: Simulator): Router {
  const { deliveries } = simulator;
  const router = Router();

  router.get("/deliveries", (request, response) => {
    const query = readQuery(listSchema, request, response);
    if (query === undefined) return;
    const { limit, endpoint_id: endpointId, event_id: eventId, state, type, verdict, q: text } = query;
    const after = query.starting_after;
    if (after !== undefined && deliveries.find(after) === undefined)
      return answerRefusal(response, deliveries.noDelivery(after));
    const page = deliveries.page({ limit, after, endpointId, eventId, state, type, verdict, text });
    answerPage(response, page.deliveries.map(deliveryView), page.next);
  });

  router.get("/counts", (_request, response) => void response.json(countsView(simulator)));

  router.get("/deliveries/:id", (request, response) => {
    const detail = deliveries.detail(request.params.id);
    if (detail === undefined) return answerRefusal(response, deliveries.noDelivery(request.params.id));
    response.json(deliveryDetailView(detail));
  });

  router.post("/deliveries/resend", (request, response) => {
    const body = readBody(resendSchema, request, response);
    if (body === undefined) return;
    const { ids, hasMore } = deliveries.resendAll(body.endpoint_id);
    const data = ids.flatMap((id) => deliveries.summary(id) ?? []).map(deliveryView);
    response.status(202).json({ object: "list", data, has_more: hasMore });
  });

  router.post("/deliveries/:id/resend", (request, response) => {
    const resent = deliveries.resend(request.params.id);
    if (!resent.ok) return answerRefusal(response, resent);
    answerSummary(response, resent.id);
  });

  router.post("/deliveries/:id/sign", (request, response) => {
    const body = readBody(signSchema, request, response);
    if (body === undefined) return;
    const signed = deliveries.signAgain(request.params.id, body.attempt);
    if (!signed.ok) return answerRefusal(response, signed);
    const { url, request: again } = signed;
    const headers = Object.fromEntries(again.headers);
    response.json({ object: "request", url, line: again.line, headers, body: again.body.toString() });
  });

  router.post("/deliveries/:id/attempt", (request, response) => {
    const hurried = deliveries.attemptNow(request.params.id);
    if (!hurried.ok) return answerRefusal(response, hurried);
    answerSummary(response, request.params.id);
  });

  function answerSummary(response: Response, id: string): void {
    const delivery = deliveries.summary(id);
    if (delivery) response.status(202).json(deliveryView(delivery));
  }

  return router;
}
