import { Router, type Response } from "express";
import { z } from "zod";
import { requestLine } from "../domain/attempt-request.ts";
import { DURATIONS, parseDuration } from "../domain/duration.ts";
import { STATE_WORDS } from "../domain/outcome.ts";
import { VERDICT_RESULTS } from "../domain/shapes.ts";
import type { RecoverySearch } from "../verbs/deliveries.ts";
import type { Simulator } from "../verbs/simulator.ts";
import { answerPage, orRefuse, readBody, readQuery } from "./answers.ts";
import { pageSchema, withSearchFields } from "./schemas.ts";
import { countsView, deliveryDetailView, deliveryView, historyView, recoveryView } from "./views.ts";

const MOMENTS = `expected a time such as 2026-01-31T18:00:00Z, or how long before now, with its unit: ${DURATIONS}`;
/** A moment of schedule time, or how long before now. */
const momentSchema = z.string(MOMENTS).refine((text) => Number.isFinite(momentMs(text, 0)), MOMENTS);

const searchSchema = pageSchema.extend({
  endpoint_id: z.string().optional(),
  event_id: z.string().optional(),
  state: z.enum(STATE_WORDS).optional(),
  type: z.string().optional(),
  verdict: z.enum(VERDICT_RESULTS).optional(),
  since: momentSchema.optional(),
  until: momentSchema.optional(),
  status: z.string().optional(),
  phone: z.string().regex(/\d{3}/, "expected three digits or more of a phone number").optional(),
});
const listSchema = z.preprocess(withSearchFields, searchSchema);

const resendSchema = z.preprocess(
  withSearchFields,
  z.strictObject({
    ...searchSchema.omit({ limit: true, starting_after: true, event_id: true }).shape,
    dry_run: z.boolean().default(false),
  }),
);
const historySchema = searchSchema.pick({ since: true, until: true, endpoint_id: true, type: true });
const signSchema = z.strictObject({ attempt: z.int().min(1).max(6) });

/** Deliveries: list, count and show them, send one or many again, sign or make an attempt now. */
export function deliveryRoutes(simulator: Simulator): Router {
  const { deliveries, clock } = simulator;
  const router = Router();

  router.get("/deliveries", async (request, response) => {
    const query = readQuery(listSchema, request);
    const { limit, event_id: eventId, starting_after: after } = query;
    if (after !== undefined) orRefuse(deliveries.get(after));
    const page = await deliveries.search({ ...searchOf(query), limit, after, eventId });
    answerPage(response, page.deliveries.map(deliveryView), page.next);
  });

  router.get("/history", async (request, response) => {
    const query = readQuery(historySchema, request);
    const { sinceMs, untilMs = clock.now(), endpointId, type } = searchOf(query);
    response.json(historyView(await deliveries.history({ sinceMs, untilMs, endpointId, type })));
  });

  router.get("/counts", (_request, response) => void response.json(countsView(simulator)));

  router.get("/deliveries/:id", (request, response) => {
    response.json(deliveryDetailView(orRefuse(deliveries.detail(request.params.id))));
  });

  router.post("/deliveries/resend", async (request, response) => {
    const body = readBody(resendSchema, request);
    const recovery = await deliveries.recover(searchOf(body), { isDry: body.dry_run });
    const sent = recovery.ids.flatMap((id) => deliveries.summary(id) ?? []);
    response.status(body.dry_run ? 200 : 202).json(recoveryView(recovery, sent));
  });

  router.post("/deliveries/:id/resend", (request, response) => {
    answerSummary(response, orRefuse(deliveries.resend(request.params.id)).id);
  });

  router.post("/deliveries/:id/sign", (request, response) => {
    const { attempt } = readBody(signSchema, request);
    const { url, headers, body } = orRefuse(deliveries.signAgain(request.params.id, attempt)).request;
    response.json({ object: "request", url, line: requestLine(url), headers, body: body.toString() });
  });

  router.post("/deliveries/:id/attempt", (request, response) => {
    orRefuse(deliveries.attemptNow(request.params.id));
    answerSummary(response, request.params.id);
  });

  function searchOf(query: Partial<z.infer<typeof listSchema>>): RecoverySearch {
    const { endpoint_id: endpointId, state, type, verdict, q: text, since, until, status, phone } = query;
    const nowMs = clock.now();
    return {
      endpointId,
      state,
      type,
      verdict,
      text,
      outcome: status,
      phone,
      sinceMs: since === undefined ? undefined : momentMs(since, nowMs),
      untilMs: until === undefined ? undefined : momentMs(until, nowMs),
    };
  }

  function answerSummary(response: Response, id: string): void {
    const delivery = deliveries.summary(id);
    if (delivery) response.status(202).json(deliveryView(delivery));
  }

  return router;
}

function momentMs(text: string, nowMs: number): number {
  const agoSeconds = parseDuration(text);
  if (agoSeconds !== undefined) return nowMs - agoSeconds * 1000;
  // A parser of dates finds one in nearly every text.
  return /^\d{4}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
}
