import { Router, type Response } from "express";
import { z } from "zod";
import { EVENT_TYPES } from "../../shared/events.ts";
import type { Endpoint } from "../domain/endpoints.ts";
import type { Simulator } from "../simulator.ts";
import { answerError, answerList, readBody } from "./answers.ts";
import { faultsSchema } from "./schemas.ts";
import { endpointView } from "./views.ts";

const settingsSchema = z.strictObject({
  url: z.string(),
  event_types: z.array(z.enum(EVENT_TYPES)).optional(),
  org_id: z.string().nullable().optional(),
  faults: faultsSchema.optional(),
});
const registrationSchema = settingsSchema.extend({ secret: z.string().optional() });
const changeSchema = settingsSchema.partial();
const checkSchema = z.strictObject({ url: z.string() });

/** Endpoints: register, look, change, remove, test (SPEC §6 Registration). */
export function endpointRoutes(simulator: Simulator): Router {
  const { endpoints, emitter, deliveries } = simulator;
  const router = Router();

  router.post("/endpoints", (request, response) => {
    const body = readBody(registrationSchema, request, response);
    if (body === undefined || !knowsOrganization(simulator, body.org_id, response)) return;
    const registered = endpoints.register({
      ...settingsOf(body),
      url: body.url,
      ...(body.secret !== undefined && { secret: body.secret }),
    });
    if (!registered.ok) return answerError(response, 400, "invalid_request", registered.message);
    // The one time that the secret is told.
    response.status(201).json({ ...endpointView(registered.endpoint), secret: registered.endpoint.secret });
  });

  // Says whether a URL would be accepted, and why not, without registering anything: for forms.
  router.post("/endpoints/check", (request, response) => {
    const body = readBody(checkSchema, request, response);
    if (body !== undefined) response.json(endpoints.checkUrl(body.url));
  });

  router.get("/endpoints", (_request, response) => answerList(response, endpoints.list().map(endpointView)));

  router.get("/endpoints/:id", (request, response) => {
    const endpoint = findEndpoint(simulator, request.params.id, response);
    if (endpoint) response.json(endpointView(endpoint));
  });

  router.patch("/endpoints/:id", (request, response) => {
    const endpoint = findEndpoint(simulator, request.params.id, response);
    const body = endpoint && readBody(changeSchema, request, response);
    if (!endpoint || !body || !knowsOrganization(simulator, body.org_id, response)) return;
    const changed = endpoints.change(endpoint, settingsOf(body));
    if (!changed.ok) return answerError(response, 400, "invalid_request", changed.message);
    response.json(endpointView(changed.endpoint));
  });

  router.delete("/endpoints/:id", (request, response) => {
    const endpoint = findEndpoint(simulator, request.params.id, response);
    if (!endpoint) return;
    endpoints.remove(endpoint.id);
    simulator.dispatcher.abandon(endpoint.id);
    response.status(204).end();
  });

  router.post("/endpoints/:id/test", (request, response) => {
    const endpoint = findEndpoint(simulator, request.params.id, response);
    if (!endpoint) return;
    const result = emitter.test(endpoint);
    if (!result.ok) return answerError(response, 409, "not_selected", result.message);
    const ids = result.emissions.flatMap((emission) => emission.deliveryIds);
    response.status(202).json({
      events: result.emissions.map(({ event }) => ({ id: event.id, type: event.type, org_id: event.orgId })),
      deliveries: ids.map((id) => ({ id, event_id: deliveries.find(id)?.eventId, endpoint_id: endpoint.id })),
    });
  });

  return router;
}

function settingsOf(body: z.infer<typeof changeSchema>) {
  const { url, event_types: eventTypes, org_id: orgId, faults } = body;
  return {
    ...(url !== undefined && { url }),
    ...(eventTypes && { eventTypes }),
    ...(orgId !== undefined && { orgId }),
    ...(faults && { faults }),
  };
}

function findEndpoint(simulator: Simulator, id: string, response: Response): Endpoint | undefined {
  const endpoint = simulator.endpoints.find(id);
  if (!endpoint) answerError(response, 404, "not_found", `There is no endpoint ${JSON.stringify(id)}.`);
  return endpoint;
}

function knowsOrganization(
  simulator: Simulator,
  orgId: string | null | undefined,
  response: Response,
): boolean {
  if (orgId === undefined || orgId === null || simulator.world.findOrganization(orgId)) return true;
  const known = simulator.world.organizations().map(({ organization }) => organization.id);
  answerError(
    response,
    400,
    "invalid_request",
    `There is no organization ${JSON.stringify(orgId)}: use one of ${known.join(", ")}.`,
  );
  return false;
}
