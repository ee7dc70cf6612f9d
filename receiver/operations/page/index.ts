import { setImmediate } from "node:timers/promises";
import type { IncomingMessage } from "node:http";
import express, { type Express, type Request, type Response } from "express";
import { z } from "zod";
import { eventIdSchema } from "../../../shared/events.ts";
import { within, type Clock } from "../../clock.ts";
import { EVENT_STATES, type Ledger } from "../../store/ledger-port.ts";
import type { Health, WorkerStatus } from "../health.ts";
import type { Log } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import { piecesOf, shownType } from "../privacy.ts";
import { count, createBulk, type Action } from "./bulk.ts";
import { CONTENT_SECURITY_POLICY, markup, type Markup } from "./markup.ts";
import { layout, link } from "./parts.ts";
import { bulkJobs, confirmation, eventList, eventPage, LONGEST_SHOWN_BYTES, overview } from "./views.ts";

export type PageOptions = {
  ledger: Ledger;
  health: Health;
  metrics: Metrics;
  log: Log;
  clock: Clock;
  workerStatus?: (() => WorkerStatus) | undefined;
  /** Whether envelopes are shown whole, or without what may be about a person. */
  showBodies: boolean;
  /** Asked before each answer when the page is mounted in an app of others; without it, whoever asks gets in. */
  guard?: ((request: IncomingMessage) => boolean | Promise<boolean>) | undefined;
};

const LIST_LIMIT = 50;
const CAUSES_WITH_TIME = 10;
const REFRESH_SECONDS = 10;
/** A short action is over when its result is shown; a longer one shows how far it is. */
const SHORT_ACTION_MS = 2_000;
const CHUNK = 65_536;

/**
 * The operator's page: what is stuck, why and since when; requeue and discard of what is chosen. Plain HTML and forms, no
 * script. It is an Express app that can be mounted at any path of another, and is a listener of node:http by itself.
 */
export function createOperatorPage(options: PageOptions): Express {
  const { ledger, health, metrics, log, clock, showBodies, guard } = options;
  const bulk = createBulk(ledger, (error) => log.error({ err: error }, "an operator's action failed"));
  const app = express();
  app.disable("x-powered-by");
  app.set("query parser", "simple");

  app.use(async (request, response, next) => {
    if (guard && !(await guard(request))) return say(request, response, "Not allowed", "Sign in first.", 403);
    next();
  });

  app.get("/", async (request, response) => {
    const [counts, { checks }] = await Promise.all([ledger.counts(), health.readiness()]);
    const oldest = counts.causes.slice(0, CAUSES_WITH_TIME).map(async ({ handler, cause }) => {
      const [event] = await ledger.list({ state: "dead", handler, cause }, { limit: 1, afterSeq: 0 });
      return event?.jobs.find((job) => job.handler === handler)?.finishedAtMs ?? undefined;
    });
    const known = { counts, checks, sinceMs: await Promise.all(oldest), lastMinute: metrics.lastMinute() };
    const place = { base: request.baseUrl, nowMs: clock.nowMs(), worker: options.workerStatus?.() };
    return send(request, response, "Overview", overview({ ...known, ...place }), { refreshes: true });
  });

  app.get("/events", async (request, response) => {
    if (typeof request.query["id"] === "string")
      return response.redirect(
        303,
        `${request.baseUrl}/events/${encodeURIComponent(request.query["id"].trim())}`,
      );
    const asked = listSchema.safeParse(request.query);
    if (!asked.success) return say(request, response, "Not done", z.prettifyError(asked.error), 400);
    const { before_seq: beforeSeq, ...filter } = asked.data;
    const events = await ledger.list(filter, { limit: LIST_LIMIT, beforeSeq });
    const handlers = (await ledger.handlers()).map(({ name }) => name);
    const next = events.length === LIST_LIMIT ? events.at(-1)?.seq : undefined;
    const place = { base: request.baseUrl, nowMs: clock.nowMs() };
    const list = eventList({ ...place, events, filter, handlers, beforeSeq: next });
    return send(request, response, "Events", list);
  });

  app.get("/events/:id", async (request, response) => {
    const event = await ledger.find(eventIdSchema.safeParse(request.params.id).data ?? "");
    if (!event)
      return say(request, response, "Not found", `No event ${request.params.id} was accepted here.`, 404);
    const bytes = await ledger.body(event.seq);
    const isLarge = (bytes?.byteLength ?? 0) > LONGEST_SHOWN_BYTES;
    const body = isLarge ? bytes?.byteLength : bytes && pretty(pieces(bytes));
    const title = event.type === null ? "A pruned event" : shownType(event.type);
    const place = { base: request.baseUrl, nowMs: clock.nowMs() };
    return send(request, response, title, eventPage({ ...place, event, body, isRedacted: !showBodies }));
  });

  app.get("/events/:id/body", async (request, response) => {
    const event = await ledger.find(eventIdSchema.safeParse(request.params.id).data ?? "");
    const bytes = event && (await ledger.body(event.seq));
    if (!bytes) return say(request, response, "Not found", "Its body is not kept.", 404);
    response.attachment(`${event.id}.json`);
    let chunk = "";
    for (const piece of pieces(bytes)) {
      chunk += piece;
      if (chunk.length < CHUNK) continue;
      response.write(chunk);
      chunk = "";
      await setImmediate();
    }
    return response.end(chunk);
  });

  app.get("/confirm", async (request, response) => {
    const asked = actionSchema.safeParse(request.query);
    if (!asked.success) return say(request, response, "Not done", z.prettifyError(asked.error), 400);
    const { action, reason: _reason, back: _back, ...selection } = asked.data;
    const { id, ...filter } = selection;
    if (id.length === 0 && Object.values(filter).every((value) => value === undefined))
      return say(
        request,
        response,
        "Not done",
        "Nothing is chosen: tick an event, or choose a state or a handler.",
        400,
      );
    const counted = await count(ledger, selection, action);
    const [only] = id;
    const back = id.length === 1 && only !== undefined ? `/events/${only}` : link("/events", filter);
    const place = { base: request.baseUrl, back: request.baseUrl + back };
    const title = action === "requeue" ? "Requeue?" : "Discard?";
    return send(request, response, title, confirmation({ ...place, action, ...counted, fields: selection }));
  });

  app.use(express.urlencoded({ extended: false, limit: 2 * CHUNK }));
  app.post("/confirm", async (request, response) => {
    if (!isOwnForm(request))
      return say(request, response, "Not done", "This form is not from this page.", 403);
    const asked = actionSchema.safeParse(request.body);
    if (!asked.success) return say(request, response, "Not done", z.prettifyError(asked.error), 400);
    const { action: kind, reason = "", back = "", ...selection } = asked.data;
    if (kind === "discard" && reason === "") return say(request, response, "Not done", "Give a reason.", 400);
    const action: Action = kind === "discard" ? { kind, reason } : { kind };
    const operator: unknown = response.locals["operator"];
    const { job, ended } = bulk.begin(selection, action);
    await within(SHORT_ACTION_MS, ended, clock);
    const { id: ids, ...filter } = selection;
    log.warn({ operator, ...action, ...filter, ids: ids.length, events: job.done }, "an operator's action");
    // Only to a path of this page: a link of others must not lead away from here.
    return response.redirect(
      303,
      back.startsWith(`${request.baseUrl}/events`) ? back : `${request.baseUrl}/`,
    );
  });
  app.post("/cancel", (request, response) => {
    if (isOwnForm(request))
      bulk.cancel(Number(z.object({ job: z.string() }).safeParse(request.body).data?.job));
    response.redirect(303, `${request.baseUrl}/`);
  });
  return app;

  function pieces(bytes: Uint8Array): Generator<string> {
    return piecesOf(new TextDecoder().decode(bytes), { hides: !showBodies });
  }

  function send(
    request: Request,
    response: Response,
    title: string,
    main: Markup,
    { refreshes = false } = {},
  ): void {
    const { baseUrl: base } = request;
    const isRunning = bulk.jobs().some(({ state }) => state === "running");
    const refreshSeconds = isRunning ? 2 : refreshes ? REFRESH_SECONDS : undefined;
    response.set({
      "Content-Security-Policy": CONTENT_SECURITY_POLICY,
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "same-origin",
    });
    const whole = markup`${bulkJobs(base, bulk.jobs())}${main}`;
    response.type("html").send(layout({ base, title, main: whole, refreshSeconds }));
  }

  function say(request: Request, response: Response, title: string, message: string, status: number): void {
    send(request, response.status(status), title, markup`<p>${message}</p>`);
  }
}

/** An empty field of a form means that it was not filled in. */
const text = z.preprocess((value) => (value === "" ? undefined : value), z.string().max(500).optional());
const filterFields = {
  state: z.preprocess((value) => (value === "" ? undefined : value), z.enum(EVENT_STATES).optional()),
  handler: text,
  type: text,
  cause: text,
};
const listSchema = z.object({ ...filterFields, before_seq: z.coerce.number().int().min(1).optional() });
const actionSchema = z.object({
  action: z.enum(["requeue", "discard"]),
  id: z.preprocess((value) => [value ?? []].flat(), z.array(eventIdSchema).max(LIST_LIMIT)),
  ...filterFields,
  reason: text,
  back: text,
});

/** A browser says where a form is from: another site's must not act with this operator's rights. */
function isOwnForm({ headers }: Request): boolean {
  const { origin, host, "sec-fetch-site": site } = headers;
  if (site !== undefined) return site === "same-origin";
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host);
}

/** One value a line. Indentation stops at ten levels, so that the text does not grow with the depth. */
function pretty(pieces: Iterable<string>): string {
  let depth = 0;
  let text = "";
  const line = (): string => `\n${"  ".repeat(Math.min(depth, 10))}`;
  for (const piece of pieces) {
    if (piece === "}" || piece === "]") depth -= 1;
    if (piece === "{" || piece === "[") {
      depth += 1;
      text += piece + line();
    } else if (piece === "}" || piece === "]") text += line() + piece;
    else text += piece === "," ? piece + line() : piece === ":" ? ": " : piece.trim();
  }
  return text.replaceAll(/([{[])\n\s*([}\]])/g, "$1$2");
}
