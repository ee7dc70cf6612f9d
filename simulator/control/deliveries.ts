import type { Response, Router } from "express";
import { z } from "zod";
import { requestLine } from "../domain/attempt-request.ts";
import { type Selection, selectionFields, type SelectionFields, selectionOf } from "../domain/selection.ts";
import type { Simulator } from "../verbs/simulator.ts";
import { answerError, answerList, answerPage, orRefuse, readBody, readQuery } from "./answers.ts";
import { pageSchema } from "./schemas.ts";
import { countView, deliveryDetailView, deliveryView, historyView, jobView } from "./views.ts";

const listSchema = pageSchema.extend(selectionFields);
const countSchema = z.object(selectionFields);
const MOST_IDS = 50_000;
const resendSchema = z.strictObject({
  ...selectionFields,
  ids: z.array(z.string()).max(MOST_IDS).optional(),
  dry_run: z.boolean().default(false),
});
const historySchema = countSchema.pick({ since: true, until: true, endpoint_id: true, type: true });
const signSchema = z.strictObject({ attempt: z.int().min(1).max(6) });

const NOTHING_SELECTED =
  'Give a selection: { "state": "lost" } for all that gave up and were not sent again, { "until": "0" } for everything.';

/** Deliveries: list, count, show, send one or a selection again, sign or make an attempt now. */
export function deliveryRoutes(router: Router, simulator: Simulator): void {
  const { deliveries, jobs, clock } = simulator;
  router.get("/deliveries", async (request, response) => {
    const query = readQuery(listSchema, request);
    const { limit, starting_after: after, ...asked } = query;
    if (after !== undefined) orRefuse(deliveries.get(after));
    const page = await deliveries.search({ ...selected(asked), limit, after });
    answerPage(response, page.deliveries.map(deliveryView), page.next);
  });

  router.get("/counts", async (request, response) => {
    response.json(countView(await deliveries.count(selected(readQuery(countSchema, request)))));
  });

  router.get("/history", async (request, response) => {
    const { sinceMs, untilMs = clock.now(), endpointId, type } = selected(readQuery(historySchema, request));
    response.json(historyView(await deliveries.history({ sinceMs, untilMs, endpointId, type })));
  });

  router.get("/deliveries/:id", (request, response) => {
    response.json(deliveryDetailView(orRefuse(deliveries.detail(request.params.id))));
  });

  router.post("/deliveries/resend", async (request, response) => {
    const { dry_run: isDry, ...all } = readBody(resendSchema, request);
    const { ids, ...asked } = all;
    // An empty query, as of a variable that is not set, selects nothing in particular.
    const given = Object.entries(all).filter(([, value]) => value !== undefined && value !== "");
    if (given.length === 0) return answerError(response, "invalid_request", NOTHING_SELECTED);
    const selection = { ...selected(asked), ids };
    if (isDry) return void response.json(countView(await deliveries.count({ ...selection, isLast: true })));
    const { job } = orRefuse(jobs.start(selection, Object.fromEntries(given)));
    response.status(202).json(jobView(job));
  });

  router.get("/jobs", (_request, response) => answerList(response, jobs.list().map(jobView)));

  router.get("/jobs/:id", (request, response) => {
    response.json(jobView(orRefuse(jobs.get(request.params.id)).job));
  });

  router.post("/jobs/:id/cancel", (request, response) => {
    response.status(202).json(jobView(orRefuse(jobs.cancel(request.params.id)).job));
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

  function selected(asked: SelectionFields): Selection {
    return orRefuse(selectionOf(asked, clock.now())).selection;
  }

  function answerSummary(response: Response, id: string): void {
    const delivery = deliveries.summary(id);
    if (delivery) response.status(202).json(deliveryView(delivery));
  }
}
