import type { IncomingMessage } from "node:http";
import express, { type Express, type Request, type Response } from "express";
import { z } from "zod";
import { eventIdSchema } from "../../../shared/events.ts";
import { within, type Clock } from "../../clock.ts";
import { EVENT_STATES, type InboxJob, type Ledger } from "../../store/ledger-port.ts";
import type { Health } from "../health.ts";
import type { Log } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import { prettyEnvelope, shownType } from "../present.ts";
import type { Status } from "../../work/supervisor.ts";
import { act, count, type Action, type Selection } from "../selection.ts";
import { actions, HEADERS, layout, lines, link, markup, moment, table, type Markup } from "./markup.ts";

export type PageOptions = {
  ledger: Ledger;
  health: Health;
  metrics: Metrics;
  log: Log;
  clock: Clock;
  workerStatus?: (() => Status) | undefined;
  /** Whether envelopes are shown whole, or without what may be about a person. */
  showBodies: boolean;
  /** Asked before each answer when the page is mounted in an app of others; without it everyone gets in. */
  guard?: ((request: IncomingMessage) => boolean | Promise<boolean>) | undefined;
};

/** `base` is where the page is mounted, such as `/operator`; empty on the admin port. */
type Asked = { base: string; nowMs: number; query: Request["query"]; id: string };
type View = { title: string; main: Markup; status?: number; refreshSeconds?: number };

const LIST_LIMIT = 50;
const CAUSES_WITH_TIME = 10;
const REFRESH_SECONDS = 10;
/** An action that takes longer shows how far it is. */
const SHORT_ACTION_MS = 2_000;

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

  show("/", async ({ base, nowMs }) => {
    const [counts, { checks }] = await Promise.all([ledger.counts(), options.health.readiness()]);
    const alerts = Object.entries(checks).map(([name, check]) => {
      const why = name === "handlers" && options.workerStatus?.().problem;
      return markup`${check !== "ok" && markup`<p class="note alert" role="alert"><strong>${name}: ${check}</strong> ${why && `Events are stored and wait. ${why}`}</p>`}`;
    });
    const causes = counts.causes.map(async ({ handler, cause, dead }, index) => {
      const chosen = { state: "dead", handler, cause } as const;
      const [oldest] = index < CAUSES_WITH_TIME ? await ledger.list(chosen, { limit: 1, afterSeq: 0 }) : [];
      const sinceMs = oldest?.jobs.find((job) => job.handler === handler)?.finishedAtMs;
      const events = markup`<a href="${link(`${base}/events`, chosen)}">${cause}</a>`;
      return [handler, events, dead, moment(sinceMs, nowMs), actions(base, chosen)];
    });
    const handlers = counts.handlers.map(({ handler, failing, oldestUnfinishedAtMs, ...jobs }) => {
      const numbers = (["waiting", "running", "dead", "ignored"] as const).map((state) => {
        const href = link(`${base}/events`, { state, handler });
        return markup`<a class="${jobs[state] > 0 && state}" href="${href}">${jobs[state]}</a>`;
      });
      const ended = options.metrics.lastMinute().get(handler) ?? 0;
      return [handler, ...numbers, failing, moment(oldestUnfinishedAtMs, nowMs), ended];
    });
    const main = markup`${alerts}<h2>Dead, by cause</h2>
${table("Handler,*Why,#Dead,Since (UTC),Change", await Promise.all(causes), "Nothing is dead.")}<h2>Handlers</h2>
${table("Handler,#Waiting,#Running,#Dead,#Ignored,#Failing,Oldest (UTC),#Ended in the last minute", handlers, "No worker has started yet.")}
<p class="quiet">${counts.events} events are known. No handler wanted <a href="${base}/events?state=ignored">${counts.unwanted}</a> of them.</p>`;
    return { title: "Overview", main, refreshSeconds: REFRESH_SECONDS };
  });

  app.get("/events", (request, response, next) => {
    const { id } = request.query;
    if (typeof id !== "string") return next();
    response.redirect(303, `${request.baseUrl}/events/${encodeURIComponent(id.trim())}`);
  });
  show("/events", async ({ base, nowMs, query }) => {
    const { before_seq: beforeSeq, ...filter } = listSchema.parse(query);
    const title = `Events: ${wordsOf(filter)}`;
    const events = await ledger.list(filter, { limit: LIST_LIMIT, beforeSeq });
    if (events.length === 0) return { title, main: markup`<p>No event matches.</p>` };
    const rows = events.map((event) => {
      const { id, type, receivedAtMs } = event;
      const job = event.jobs.find(({ handler }) => handler === filter.handler) ?? event;
      const box = markup`<input type="checkbox" name="id" value="${id}" aria-label="Choose ${id}" />`;
      const name = markup`<a href="${base}/events/${id}">${titleOf(type)}</a><br /><code class="quiet">${id}</code>`;
      return [box, name, stateWord(job), job.attempts, moment(receivedAtMs, nowMs), job.lastError];
    });
    const before_seq = events.length === LIST_LIMIT ? String(events.at(-1)?.seq) : undefined;
    const main = markup`<p>All that match: ${actions(base, filter)}</p><form action="${base}/confirm">
${filter.handler && markup`<input type="hidden" name="handler" value="${filter.handler}" />`}
${table("Choose,Event,State,#Attempts,Received (UTC),*Last error", rows)}
<button name="action" value="requeue">Requeue the chosen…</button> <button name="action" value="discard">Discard the chosen…</button></form>
${before_seq && markup`<a href="${link(`${base}/events`, { ...filter, before_seq })}">Older events</a>`}`;
    return { title, main };
  });

  show("/events/:id", async ({ base, nowMs, id }) => {
    const event = eventIdSchema.safeParse(id).success && (await ledger.find(id));
    if (!event) return problem(`No event ${id} was accepted here.`, 404);
    const { state, source, duplicates, jobs } = event;
    const rows = jobs.map((job) => {
      const { handler, state, nextAttemptAtMs: nextMs } = job;
      const waits = job.held ? "behind its key" : job.deferred ? "put off until" : "next attempt";
      const when = markup`${state !== "running" && (nextMs === null ? "ended" : waits)} ${moment(nextMs ?? job.finishedAtMs, nowMs)}`;
      const errors = job.errors.map(
        ({ attempt, atMs, error }) => markup`<div>${attempt}: ${error} ${moment(atMs, nowMs)}</div>`,
      );
      const why = state === "ignored" ? job.lastError : errors;
      const change = state !== "done" && state !== "running" && actions(base, { id, handler }, state);
      return [handler, stateWord(job), job.attempts, when, why, change];
    });
    const unwanted = markup`No handler wanted it. ${state === "ignored" && actions(base, { id }, state)}`;
    const bytes = await ledger.body(event.seq);
    const main = markup`<p><code>${id}</code></p><p>${stateWord(event)} · ${source === "reconcile" ? "found missing by reconcile" : "sent by the service"} · received ${moment(event.receivedAtMs, nowMs)} · ${duplicates} more deliveries</p>
${table("Handler,State,#Attempts,When (UTC),*Errors by attempt,Change", rows, unwanted)}
<h2>Envelope</h2>${bytes === undefined ? markup`<p>It is pruned.</p>` : markup`<pre>${lines(prettyEnvelope(bytes, { isRedacted: !showBodies }))}</pre>`}
${!showBodies && markup`<p class="quiet">Without what may be about a person. ADMIN_SHOW_BODIES=true shows all of it.</p>`}`;
    return { title: titleOf(event.type), main };
  });

  show("/confirm", async ({ base, query }) => {
    const { kind, selection, back } = chosenBy(query);
    const { choices, isMore } = await count(ledger, selection, kind);
    const total = choices.reduce((sum, { jobs }) => sum + jobs, 0);
    const rows = choices.map(({ handler = "no handler wanted it", cause, jobs }) => [handler, cause, jobs]);
    const jobs = markup`${isMore && "more than "}${total} ${total === 1 ? "job" : "jobs"}`;
    const question =
      kind === "requeue"
        ? markup`<p>They wait again, due at once, with all their attempts before them.</p><button class="primary">Requeue ${jobs}</button>`
        : markup`<p>They end as ignored, and stay visible with the reason.</p><label>Reason <input name="reason" required maxlength="200" size="40" /></label> <button class="danger">Discard ${jobs}</button>`;
    const main = markup`${table("Handler,*Why,#Jobs", rows, `No job that matches can be ${kind}ed.`)}
<form method="post">${total > 0 && question} <a class="button" href="${base}${back}">Back</a></form>`;
    return { title: kind === "requeue" ? "Requeue?" : "Discard?", main };
  });
  app.post("/confirm", express.urlencoded({ extended: false }), async (request, response) => {
    if (!isOwnForm(request)) return send(request, response, problem("This form is not from this page.", 403));
    const { kind, selection, back } = chosenBy(request.query);
    const { reason } = reasonSchema.parse(request.body ?? {});
    const now = { words: `${kind} (${wordsOf(selection)})`, events: 0, state: "runs" };
    last = now;
    const action: Action = kind === "discard" ? { kind, reason } : { kind };
    const acting = act(ledger, selection, action, (events) => void (now.events = events)).then(
      () => (now.state = "done"),
      (err: unknown) => {
        now.state = "failed";
        log.error({ err }, "an operator's action failed");
      },
    );
    await within(SHORT_ACTION_MS, acting, clock);
    const done: object = { ...action, ...selection, ids: selection.ids?.length, events: now.events };
    log.warn({ operator: response.locals["operator"], ...done }, "an operator's action");
    response.redirect(303, request.baseUrl + back);
  });
  app.use((err: unknown, request: Request, response: Response, next: express.NextFunction) => {
    if (response.headersSent) return next(err);
    if (err instanceof z.ZodError) return send(request, response, problem(z.prettifyError(err), 400));
    // A form that could not be read.
    const status = err instanceof Error && "status" in err ? Number(err.status) : 500;
    if (status < 500) return send(request, response, problem(String(err), status));
    log.error({ err }, "the operator's page failed");
    send(request, response, problem("The receiver failed. Its log says why.", 500));
  });
  return app;

  function show(path: string, view: (asked: Asked) => Promise<View>): void {
    app.get(path, async (request, response) => {
      const { baseUrl: base, query, params } = request;
      send(request, response, await view({ base, nowMs: clock.nowMs(), query, id: String(params["id"]) }));
    });
  }

  function send(request: Request, response: Response, view: View): void {
    const result =
      last && markup`<p class="note" role="status">${last.words}: ${last.events} events, ${last.state}</p>`;
    const refreshSeconds = last?.state === "runs" ? 2 : view.refreshSeconds;
    const main = markup`${result}${view.main}`;
    response
      .status(view.status ?? 200)
      .type("html")
      .set(HEADERS);
    response.send(layout(request.baseUrl, view.title, main, refreshSeconds));
  }
}

function problem(message: string, status: number): View {
  return { title: "Not done", main: markup`<p>${message}</p>`, status };
}

function titleOf(type: string | null): string {
  return type === null ? "pruned" : shownType(type);
}

function stateWord({ state }: Pick<InboxJob, "state"> | { state: "pruned" }): Markup {
  return markup`<strong class="${state}">${state}</strong>`;
}

const text = z.string().max(500);
const filterSchema = z
  .object({ state: z.enum(EVENT_STATES), handler: text, type: text, cause: text })
  .partial();
const listSchema = filterSchema.extend({ before_seq: z.coerce.number().int().min(1).optional() });
const idsSchema = z.union([z.array(eventIdSchema).max(LIST_LIMIT), eventIdSchema.transform((id) => [id])]);
const actionSchema = filterSchema
  .extend({ action: z.enum(["requeue", "discard"]), id: idsSchema.optional() })
  .refine(
    (asked) => Object.keys(asked).length > 1,
    "Nothing is chosen: tick an event, or choose a state or a handler.",
  );
const reasonSchema = z.object({ reason: z.string().max(200).default("no reason") });

/** What an action is asked about, and where its result is seen. */
function chosenBy(query: Request["query"]) {
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
