import { Router } from "express";
import { z } from "zod";
import { EVENT_TYPES } from "../../shared/events.ts";
import { OVERLAP_SECONDS } from "../domain/signing-secrets.ts";
import type { Simulator } from "../verbs/simulator.ts";
import { answerList, answerRefusal, readBody } from "./answers.ts";
import { notFound } from "../domain/refused.ts";
import { faultsSchema, nameSchema } from "./schemas.ts";
import { answersView, emittedView, endpointView } from "./views.ts";

const LONGEST_URL_CHARACTERS = 2_048;
const LONGEST_SECRET_CHARACTERS = 1_024;
const MOST_SELECTED = 100;

const urlSchema = z.string().max(LONGEST_URL_CHARACTERS);
const secretSchema = z.string().max(LONGEST_SECRET_CHARACTERS);
const settingsSchema = z.strictObject({
  url: urlSchema,
  event_types: z.array(z.enum(EVENT_TYPES)).max(MOST_SELECTED).optional(),
  org_id: nameSchema.nullable().optional(),
  faults: faultsSchema.optional(),
});
const registrationSchema = settingsSchema.extend({ secret: secretSchema.optional() });
const changeSchema = settingsSchema.partial();
const LONGEST_OVERLAP_SECONDS = 30 * 86_400;
const rotationSchema = z.strictObject({
  secret: secretSchema.optional(),
  overlap_seconds: z.number().min(0).max(LONGEST_OVERLAP_SECONDS).default(OVERLAP_SECONDS),
});
const checkSchema = z.strictObject({ url: urlSchema });

/** Endpoints: register, look, change, remove, test (SPEC §6 Registration). */
export function endpointRoutes({ endpoints, deliveries }: Simulator): Router {
  const router = Router();

  router.post("/endpoints", (request, response) => {
    const body = readBody(registrationSchema, request, response);
    if (body === undefined) return;
    const { url, secret } = body;
    const registered = endpoints.register({ ...settingsOf(body), url, secret });
    if (!registered.ok) return answerRefusal(response, registered);
    // The only answer that has the secret.
    response.status(201).json({ ...endpointView(registered.endpoint), secret: registered.endpoint.secret });
  });

  // Says whether a URL would be accepted, and why not, and whether somebody listens there: for forms.
  router.post("/endpoints/check", async (request, response) => {
    const body = readBody(checkSchema, request, response);
    if (body !== undefined) response.json(await endpoints.probe(body.url));
  });

  router.get("/endpoints", (_request, response) => answerList(response, endpoints.list().map(endpointView)));

  router.get("/endpoints/:id", (request, response) => {
    const endpoint = endpoints.find(request.params.id);
    if (!endpoint) return answerRefusal(response, notFound("endpoint", request.params.id));
    response.json(endpointView(endpoint));
  });

  router.patch("/endpoints/:id", (request, response) => {
    const { id } = request.params;
    if (!endpoints.find(id)) return answerRefusal(response, notFound("endpoint", id));
    const body = readBody(changeSchema, request, response);
    if (body === undefined) return;
    const changed = endpoints.change(id, settingsOf(body));
    if (!changed.ok) return answerRefusal(response, changed);
    response.json(endpointView(changed.endpoint));
  });

  router.post("/endpoints/:id/rotate", (request, response) => {
    const body = readBody(rotationSchema, request, response);
    if (body === undefined) return;
    const { secret, overlap_seconds: overlapSeconds } = body;
    const rotated = endpoints.rotate(request.params.id, {
      secret,
      overlapMs: Math.round(overlapSeconds * 1000),
    });
    if (!rotated.ok) return answerRefusal(response, rotated);
    // The only answer that has the new secret.
    response.json({ ...endpointView(rotated.endpoint), secret: rotated.endpoint.secret });
  });

  router.delete("/endpoints/:id", (request, response) => {
    const removed = endpoints.remove(request.params.id);
    if (!removed.ok) return answerRefusal(response, removed);
    response.status(204).end();
  });

  router.get("/endpoints/:id/answers", (request, response) => {
    if (!endpoints.find(request.params.id))
      return answerRefusal(response, notFound("endpoint", request.params.id));
    response.json(answersView(deliveries.answersOf(request.params.id)));
  });

  router.post("/endpoints/:id/test", (request, response) => {
    const tested = endpoints.test(request.params.id);
    if (!tested.ok) return answerRefusal(response, tested);
    response.status(202).json(emittedView([tested.emitted]));
  });

  return router;
}

function settingsOf({ url, event_types: eventTypes, org_id: orgId, faults }: z.infer<typeof changeSchema>) {
  return { url, eventTypes, orgId, faults };
}
