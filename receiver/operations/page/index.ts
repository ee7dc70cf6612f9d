import type { IncomingMessage } from "node:http";
import express, { type Express, type Request, type Response } from "express";
import { z } from "zod";
import { eventIdSchema } from "../../../shared/events.ts";
import { within, type Clock } from "../../clock.ts";
import { EVENT_STATES, type Ledger } from "../../store/ledger-port.ts";
import type { Health, WorkerStatus } from "../health.ts";
import type { Log } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import { piecesOf, prettyJson } from "../privacy.ts";
import { act, count, type Action, type Selection } from "../selection.ts";
import { CONTENT_SECURITY_POLICY, markup, type Markup } from "./markup.ts";
import { grouped, layout, link, type Place } from "./parts.ts";
import * as views from "./views.ts";

export type PageOptions = {
  ledger: Ledger;
  health: Health;
  metrics: Metrics;
  log: Log;
  clock: Clock;
  workerStatus?: (() => WorkerStatus) | undefined;
  /** Whether envelopes are shown whole, or without what may be about a person. */
  showBodies: boolean;
  /** Asked before each answer when the page is mounted in an app of others; without it everyone gets in. */
  guard?: ((request: IncomingMessage) => boolean | Promise<boolean>) | undefined;
};

type View = { title: string; main: Markup; status?: number; refreshSeconds?: number };

const LIST_LIMIT = 50;
const CAUSES_WITH_TIME = 10;
const REFRESH_SECONDS = 10;
/** An action that takes longer shows how far it is. */
const SHORT_ACTION_MS = 2_000;
/** A longer envelope is cut here, since a page of it would hold up other answers. */
const MOST_SHOWN_CHARACTERS = 65_536;

/**
 * The operator's page: what is stuck, why and since when; requeue and discard of what is chosen. Plain HTML and forms, no
 * script. It is an Express app: mount it at any path of another, or use it as a listener of node:http.
 */
export function createOperatorPage(options: PageOptions): Express {
  const { ledger, log, clock, showBodies } = options;
  /** The last action of an operator, shown on every page. */
  let last: { words: string; events: number; state: string } | undefined;
  const app = express();
  app.disable("x-powered-by");
  app.set("query parser", "simple");
  app.use(async (request, response, next) => {
    const mayEnter = options.guard === undefined || (await options.guard(request));
    if (mayEnter) next();
    else send(request, response, problem("Sign in first.", 403));
  });

  show("/", async (place) => {
    const [counts, { checks }] = await Promise.all([ledger.counts(), options.health.readiness()]);
    const since = counts.causes.slice(0, CAUSES_WITH_TIME).map(async ({ handler, cause }) => {
      const [oldest] = await ledger.list({ state: "dead", handler, cause }, { limit: 1, afterSeq: 0 });
      return oldest?.jobs.find((job) => job.handler === handler)?.finishedAtMs ?? undefined;
    });
    const main = markup`${views.alerts(checks, options.workerStatus?.())}<h2>Dead, by cause</h2>${views.causes(place, counts, await Promise.all(since))}
<h2>Handlers</h2>${views.handlers(place, counts, options.metrics.lastMinute())}`;
    return { title: "Overview", main, refreshSeconds: REFRESH_SECONDS };
  });

  app.get("/events", (request, response, next) => {
    const { id } = request.query;
    if (typeof id !== "string") return next();
    response.redirect(303, `${request.baseUrl}/events/${encodeURIComponent(id.trim())}`);
  });
  show("/events", async (place, request) => {
    const { before_seq: beforeSeq, ...filter } = listSchema.parse(request.query);
    const events = await ledger.list(filter, { limit: LIST_LIMIT, beforeSeq });
    const nextSeq = events.length === LIST_LIMIT ? events.at(-1)?.seq : undefined;
    return { title: `Events: ${wordsOf(filter)}`, main: views.eventList(place, events, filter, nextSeq) };
  });

  show("/events/:id", async (place, request) => {
    const { data: id } = eventIdSchema.safeParse(request.params["id"]);
    const event = id && (await ledger.find(id));
    if (!event) return problem(`No event ${String(request.params["id"])} was accepted here.`, 404);
    const bytes = await ledger.body(event.seq);
    const pieces = piecesOf(new TextDecoder().decode(bytes), { hides: !showBodies });
    const body = bytes && prettyJson(beginningOf(pieces));
    return { title: views.titleOf(event), main: views.eventPage(place, event, body, !showBodies) };
  });
  show("/confirm", async (place, request) => {
    const { kind, selection, back } = chosenBy(request);
    const counted = await count(ledger, selection, kind);
    const main = views.confirmation(kind, counted, place.base + back);
    return { title: kind === "requeue" ? "Requeue?" : "Discard?", main };
  });
  app.post("/confirm", express.urlencoded({ extended: false }), async (request, response) => {
    if (!isOwnForm(request)) return send(request, response, problem("This form is not from this page.", 403));
    const { kind, selection, back } = chosenBy(request);
    const { reason } = reasonSchema.parse(request.body ?? {});
    const now = { words: `${kind} (${wordsOf(selection)})`, events: 0, state: "runs" };
    last = now;
    const action: Action = kind === "discard" ? { kind, reason } : { kind };
    const acting = act(ledger, selection, action, (events) => void (now.events += events)).then(
      () => (now.state = "done"),
      (error: unknown) => {
        now.state = "failed";
        log.error({ err: error }, "an operator's action failed");
      },
    );
    await within(SHORT_ACTION_MS, acting, clock);
    const operator: unknown = response.locals["operator"];
    const { events } = now;
    log.warn(
      { operator, ...action, ...selection, ids: selection.ids?.length, events },
      "an operator's action",
    );
    response.redirect(303, request.baseUrl + back);
  });
  app.use((error: unknown, request: Request, response: Response, next: express.NextFunction) => {
    if (response.headersSent) return next(error);
    if (error instanceof z.ZodError) return send(request, response, problem(z.prettifyError(error), 400));
    log.error({ err: error }, "the operator's page failed");
    send(request, response, problem("The receiver failed. Its log says why.", 500));
  });
  return app;

  function show(path: string, view: (place: Place, request: Request) => Promise<View>): void {
    app.get(path, async (request, response) =>
      send(request, response, await view(placeOf(request), request)),
    );
  }

  function send(
    request: Request,
    response: Response,
    { title, main, status = 200, refreshSeconds }: View,
  ): void {
    const isRunning = last?.state === "runs";
    const banner =
      last &&
      markup`<p class="note" role="status">${last.words}: ${grouped(last.events)} events, ${last.state}</p>`;
    response.status(status).type("html").set({
      "Content-Security-Policy": CONTENT_SECURITY_POLICY,
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "same-origin",
    });
    response.send(layout(placeOf(request), title, markup`${banner}${main}`, isRunning ? 2 : refreshSeconds));
  }

  function placeOf({ baseUrl }: Request): Place {
    return { base: baseUrl, nowMs: clock.nowMs() };
  }
}

/** The beginning of a JSON text; an ellipsis stands for the rest. */
function* beginningOf(pieces: Iterable<string>): Generator<string> {
  let length = 0;
  for (const piece of pieces) {
    length += piece.length;
    yield length > MOST_SHOWN_CHARACTERS ? "…" : piece;
    if (length > MOST_SHOWN_CHARACTERS) return;
  }
}

function problem(message: string, status: number): View {
  return { title: "Not done", main: markup`<p>${message}</p>`, status };
}

/** An empty field of a form means that it was not filled in. */
const filled = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (value === "" ? undefined : value), schema.optional());
const text = filled(z.string().max(500));
const filterSchema = z.object({
  state: filled(z.enum(EVENT_STATES)),
  handler: text,
  type: text,
  cause: text,
});
const listSchema = filterSchema.extend({ before_seq: z.coerce.number().int().min(1).optional() });
const idsSchema = z.union([z.array(eventIdSchema).max(LIST_LIMIT), eventIdSchema.transform((id) => [id])]);
const actionSchema = filterSchema
  .extend({ action: z.enum(["requeue", "discard"]), id: idsSchema.optional() })
  .refine(
    // More than the action itself.
    (asked) => Object.values(asked).filter((value) => value !== undefined).length > 1,
    "Nothing is chosen: tick an event, or choose a state or a handler.",
  );
const reasonSchema = z.object({ reason: z.string().max(200).default("no reason") });

/** What an action is asked about, and where its result is seen. */
function chosenBy({ query }: Request) {
  const { action: kind, id: ids, ...filter } = actionSchema.parse(query);
  const selection: Selection = { ids, ...filter };
  return { kind, selection, back: ids?.length === 1 ? `/events/${String(ids)}` : link("/events", filter) };
}

function wordsOf({ ids, ...filter }: Selection): string {
  const words = [ids && `${String(ids.length)} chosen`, ...Object.values(filter)];
  return words.filter(Boolean).join(", ") || "all";
}

/** A browser says where a form is from: another site's must not act with this operator's rights. */
function isOwnForm({ headers }: Request): boolean {
  const { origin, host, "sec-fetch-site": site } = headers;
  if (site !== undefined) return site === "same-origin";
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host);
}
