import { EVENT_TYPES } from "../../shared/events.ts";
import { OVERLAP_SECONDS } from "../domain/endpoints.ts";
import { answerList, orRefuse, readBody, answerError } from "./answers.ts";
import { faultsSchema, nameSchema } from "./schemas.ts";
import { answersView, emittedView, endpointView } from "./views.ts";
import type { Router } from "express";
import { z } from "zod";
import { OPTION_BOUNDS } from "../domain/option-bounds.ts";
import type { Listener } from "../processes/listening.ts";
import { probeReceiver } from "../processes/receiver-probe.ts";
import type { Simulator } from "../verbs/simulator.ts";

const LONGEST_URL_CHARACTERS = 2_048;
const LONGEST_SECRET_CHARACTERS = 1_024;
const LONGEST_NAME_CHARACTERS = 100;
const MOST_SELECTED = 100;

const urlSchema = z.string().max(LONGEST_URL_CHARACTERS);
const secretSchema = z.string().max(LONGEST_SECRET_CHARACTERS);
const settingsSchema = z.strictObject({
  url: urlSchema,
  name: z.string().trim().max(LONGEST_NAME_CHARACTERS).optional(),
  event_types: z.array(z.enum(EVENT_TYPES)).max(MOST_SELECTED).optional(),
  org_id: nameSchema.nullable().optional(),
  faults: faultsSchema.optional(),
});
const registrationSchema = settingsSchema.extend({ secret: secretSchema.optional() });
const changeSchema = settingsSchema.partial().extend({ paused: z.boolean().optional() });
const [SHORTEST, LONGEST] = OPTION_BOUNDS.overlapSeconds;
const rotationSchema = z.strictObject({
  secret: secretSchema.optional(),
  overlap_seconds: z.number().min(SHORTEST).max(LONGEST).default(OVERLAP_SECONDS),
});
const checkSchema = z.strictObject({ url: urlSchema });

export function endpointRoutes(router: Router, { endpoints, deliveries }: Simulator): void {
  router.post("/endpoints", (request, response) => {
    const body = readBody(registrationSchema, request);
    const { url, secret } = body;
    const { endpoint } = orRefuse(endpoints.register({ ...settingsOf(body), url, secret }));
    // The only answer with the secret.
    response.status(201).json({ ...endpointView(endpoint), secret: endpoint.secret });
  });

  // For forms: whether a URL would be accepted, why not, and whether a server listens there.
  router.post("/endpoints/check", async (request, response) => {
    response.json(await endpoints.probe(readBody(checkSchema, request).url));
  });

  router.get("/endpoints", (_request, response) => answerList(response, endpoints.list().map(endpointView)));

  router.get("/endpoints/:id", (request, response) => {
    response.json(endpointView(orRefuse(endpoints.get(request.params.id)).endpoint));
  });

  router.patch("/endpoints/:id", (request, response) => {
    const { id } = orRefuse(endpoints.get(request.params.id)).endpoint;
    const changed = endpoints.change(id, settingsOf(readBody(changeSchema, request)));
    response.json(endpointView(orRefuse(changed).endpoint));
  });

  router.post("/endpoints/:id/rotate", (request, response) => {
    const { secret, overlap_seconds: overlapSeconds } = readBody(rotationSchema, request);
    const overlapMs = Math.round(overlapSeconds * 1000);
    const { endpoint } = orRefuse(endpoints.rotate(request.params.id, { secret, overlapMs }));
    // The only answer with the new secret.
    response.json({ ...endpointView(endpoint), secret: endpoint.secret });
  });

  router.delete("/endpoints/:id", (request, response) => {
    orRefuse(endpoints.remove(request.params.id));
    response.status(204).end();
  });

  router.get("/endpoints/:id/answers", (request, response) => {
    const { id } = orRefuse(endpoints.get(request.params.id)).endpoint;
    response.json(answersView(deliveries.answersOf(id)));
  });

  router.post("/endpoints/:id/test", (request, response) => {
    const { emitted } = orRefuse(endpoints.test(request.params.id));
    response.status(202).json(emittedView(emitted));
  });
}

function settingsOf({ event_types: eventTypes, org_id: orgId, ...same }: z.infer<typeof changeSchema>) {
  return { ...same, eventTypes, orgId };
}

const probeSchema = z.strictObject({ port: z.int().min(1).max(OPTION_BOUNDS.port[1]) });

/** Receivers that are not registered yet: which usual ports are open, and at which path one of them takes webhooks. */
export function receiverRoutes(router: Router, { listListeners }: Simulator): void {
  router.get("/listeners", async (request, response) => {
    const listeners = await listListeners();
    response.json(listenersView(listeners.filter(({ port }) => port !== request.socket.localPort)));
  });

  // A POST, since it sends requests, which no page of another site may trigger. Only listed ports are probed.
  router.post("/listeners/probe", async (request, response) => {
    const { port } = readBody(probeSchema, request);
    const listener = (await listListeners()).find((known) => known.port === port);
    if (listener === undefined)
      return answerError(response, "not_found", `Nothing listens at port ${port} any more.`);
    response.json({ object: "probe", ...(await probeReceiver(listener)) });
  });
}

export function listenersView(listeners: readonly Listener[]) {
  const data = listeners.map(({ host, port }) => ({ object: "listener", host, port }));
  return { object: "list", data };
}
