import type { IncomingMessage } from "node:http";
import express, { type Express, type Request, type Response } from "express";
import { z } from "zod";
import { eventIdSchema } from "../../../shared/events.ts";
import { within, type Clock } from "../../clock.ts";
import type { Ledger } from "../../store/port.ts";
import type { Receiver } from "../../receiver.ts";
import { answerErrors } from "../admin.ts";
import type { Log } from "../log.ts";
import { prettyEnvelope, shownType } from "../present.ts";
import { act, count, filterSchema, type Action, type Selection } from "../selection.ts";
import { HEADERS, layout, link, markup, moment, questions, table, type Markup, type View } from "./markup.ts";

export type PageOptions = Pick<Receiver, "health" | "workerStatus"> & {
  ledger: Ledger;
  log: Log;
  clock: Clock;
  /** Called before each answer when the page is mounted in another app. Without it everyone is admitted. */
  guard?: ((request: IncomingMessage) => boolean | Promise<boolean>) | undefined;
};

const LIST_LIMIT = 50;
const PAST_KEPT = 10;
const CAUSES_WITH_TIME = 10;
/** After this time an action is shown as running. */
const SHORT_ACTION_MS = 2_000;

/**
 * The operator's page: what is stuck, why and since when; requeue and discard of a selection. Plain HTML and forms, no
 * script. It is an Express app: mount it at any path of another app, or use it as a listener of node:http.
 */
export function createOperatorPage(options: PageOptions): Express {
  const { ledger, log, clock } = options;
  const { past, run } = createActions(options);
  const ago = (atMs: number | null | undefined): Markup => moment(atMs, clock.nowMs());
  const app = express();
  app.disable("x-powered-by");
  app.set("query parser", "simple");
  app.use(async (request, response, next) => {
    const mayEnter = options.guard === undefined || (await options.guard(request));
    if (mayEnter && (request.method === "GET" || isOwnForm(request))) next();
    else refuse(response, 403, mayEnter ? "This form comes from another site." : "Sign in first.");
  });

  show("/", async ({ baseUrl: base }) => {
    const [counts, { checks }] = await Promise.all([ledger.counts(), options.health.readiness()]);
    const alerts = Object.entries(checks).map(([name, check]) => {
      const why = name === "handlers" && options.workerStatus?.().problem;
      return markup`${check !== "ok" && markup`<p class="note alert" role="alert"><strong>${name}: ${check}</strong> ${why && `Events are stored and waiting. ${why}`}</p>`}`;
    });
    const causes = counts.causes.map(async ({ handler, cause, dead }, index) => {
      const chosen = { state: "dead", handler, cause } as const;
      const [oldest] = index < CAUSES_WITH_TIME ? await ledger.list(chosen, { limit: 1, afterSeq: 0 }) : [];
      const sinceMs = oldest?.jobs.find((job) => job.handler === handler)?.finishedAtMs;
      const events = markup`<a href="${link(`${base}/events`, chosen)}">${cause}</a>`;
      return [handler, events, dead, ago(sinceMs), questions(base, chosen)];
    });
    const handlers = counts.handlers.map(({ handler, failing, oldestUnfinishedAtMs, ...jobs }) => {
      const numbers = (["waiting", "running", "dead", "ignored"] as const).map((state) => {
        return markup`<a class="${jobs[state] > 0 ? state : "quiet"}" href="${link(`${base}/events`, { state, handler })}">${jobs[state]}</a>`;
      });
      return [handler, ...numbers, failing, ago(oldestUnfinishedAtMs)];
    });
    const main = markup`${alerts}<h2>Dead, by cause</h2>
${table("Handler,*Why,#Dead,Since (UTC),Change", await Promise.all(causes), "Nothing is dead.")}<h2>Handlers</h2>
${table("Handler,#Waiting,#Running,#Dead,#Ignored,#Failing,Oldest (UTC)", handlers, "No worker has started yet.")}
<p class="quiet">${counts.events} events are known. No handler wanted <a href="${base}/events?state=ignored">${counts.unwanted}</a> of them.</p>`;
    return { title: "Overview", main, refreshSeconds: 10 };
  });

  show("/events", async ({ baseUrl: base, query }) => {
    const { before_seq: beforeSeq, ...filter } = filterSchema.parse(query);
    const events = await ledger.list(filter, { limit: LIST_LIMIT, beforeSeq });
    const rows = events.map(({ id, type, receivedAtMs, ...event }) => {
      const job = event.jobs.find(({ handler }) => handler === filter.handler) ?? event;
      const box = markup`<input type="checkbox" name="id" value="${id}" aria-label="Choose ${id}" />`;
      const name = markup`<a href="${base}/event?id=${id}">${shownType(type)}</a><br /><code class="quiet">${id}</code>`;
      return [box, name, stateWord(job), job.attempts, ago(receivedAtMs), job.lastError];
    });
    const older = events.length === LIST_LIMIT && { ...filter, before_seq: String(events.at(-1)?.seq) };
    const kept = Object.entries({ ...filter, id: "" }).map(([name, value]) => hidden(name, value));
    const list = markup`<p>All that match: ${questions(base, filter)}</p><form action="${base}/confirm">${kept}
${table("Choose,Event,State,#Attempts,Received (UTC),*Last error", rows)}
<button name="action" value="requeue">Requeue the chosen…</button> <button name="action" value="discard">Discard the chosen…</button></form>
${older && markup`<a href="${link(`${base}/events`, older)}">Older events</a>`}`;
    const main = events.length === 0 ? markup`<p>No event matches.</p>` : list;
    return { title: `Events: ${wordsOf(filter)}`, main };
  });

  show("/event", async ({ baseUrl: base, query }) => {
    const id = z.string().parse(query["id"]).trim();
    const event = eventIdSchema.safeParse(id).success && (await ledger.find(id));
    if (!event) return problem(404, `No event ${id} was accepted here.`);
    const rows = event.jobs.map((job) => {
      const { handler, state, errors, nextAttemptAtMs: nextMs } = job;
      const waits = nextMs === null ? "ended" : job.deferred ? "deferred until" : "next attempt";
      const when = markup`${state !== "running" && (job.held ? "behind its key" : waits)}<br />${ago(nextMs ?? job.finishedAtMs)}`;
      const tried = errors.map((one) => markup`<div>${one.attempt}: ${one.error} ${ago(one.atMs)}</div>`);
      const why = state === "ignored" ? job.lastError : tried;
      return [handler, stateWord(job), job.attempts, when, why, questions(base, { id, handler, state })];
    });
    const unwanted = markup`No handler wanted it. ${questions(base, { id, state: "ignored" })}`;
    const bytes = await ledger.body(event.seq);
    const envelope = bytes
      ? markup`<pre>${prettyEnvelope(bytes).map((line) => markup`${line}\n`)}</pre><p class="quiet">Personal data is redacted: inbox show ${id} --body prints all of it.</p>`
      : markup`<p>It is pruned.</p>`;
    const main = markup`<p><code>${id}</code></p><p>${stateWord(event)} · ${event.source === "reconcile" ? "found missing by reconcile" : "sent by the service"} · received ${ago(event.receivedAtMs)} · ${event.duplicates} more deliveries</p>
${table("Handler,State,#Attempts,When (UTC),*Errors by attempt,Change", rows, event.state === "ignored" ? unwanted : "Its jobs are not known.")}
<h2>Envelope</h2>${envelope}`;
    return { title: shownType(event.type), main };
  });

  show("/confirm", async ({ baseUrl: base, query }) => {
    const { kind, selection } = questionSchema.parse(query);
    const { choices, total, isMore } = await count(ledger, selection, kind);
    const rows = choices.map(({ handler = "no handler wanted it", cause, jobs }) => [handler, cause, jobs]);
    const jobs = markup`${isMore && "more than "}${total} ${total === 1 ? "job" : "jobs"}`.markup;
    const question =
      kind === "requeue"
        ? markup`<p>They wait again, due at once, with all attempts left.</p><button class="primary">Requeue ${jobs}</button>`
        : markup`<p>They end as ignored, and stay visible with the reason.</p><label>Reason <input name="reason" required maxlength="200" size="40" /></label> <button class="danger">Discard ${jobs}</button>`;
    const main = markup`${table("Handler,*Why,#Jobs", rows, `No job that matches can be ${kind === "requeue" ? "requeued" : "discarded"}.`)}
<form method="post">${hidden("total", jobs)}${total > 0 && question} <a class="button" href="${base}${placeOf(selection)}">Back</a></form>`;
    return { title: kind === "requeue" ? "Requeue?" : "Discard?", main };
  });
  app.post("/confirm", express.urlencoded({ extended: false }), async (request, response) => {
    const asked = { ...questionSchema.parse(request.query), ...formSchema.parse(request.body ?? {}) };
    await within(SHORT_ACTION_MS, run(asked, String(response.locals["operator"] ?? "")), clock);
    response.redirect(303, `${request.baseUrl}/actions`);
  });

  show("/actions", async ({ baseUrl: base }) => {
    const rows = past.map((action) => {
      const { number, kind, selection, changed, total, state, startedMs, endedMs } = action;
      const what = markup`<a href="${base}${placeOf(selection)}">${kind}: ${wordsOf(selection)}</a>`;
      const cancel = markup`<form method="post" action="${base}/actions/${String(number)}"><button>Cancel</button></form>`;
      const when = markup`${ago(startedMs)}${endedMs && markup`<br />${ago(endedMs)}`}`;
      const progress = markup`${changed} of ${total}`;
      return [what, progress, stateWord(action), when, action.operator, state === "running" && cancel];
    });
    const none = "Nothing has been requeued or discarded since this process started.";
    const main = table("*What,Changed,State,Started and ended (UTC),By,Change", rows, none);
    const isBusy = past.some(({ state }) => state === "running");
    return { title: "Actions", main, refreshSeconds: isBusy ? 2 : undefined };
  });
  app.post("/actions/:number", (request, response) => {
    const meant = past.find(({ number }) => String(number) === request.params.number);
    if (meant?.state === "running") meant.state = "canceled";
    response.redirect(303, `${request.baseUrl}/actions`);
  });
  app.use(answerErrors(log, refuse));
  return app;

  /** `baseUrl` is where the page is mounted, such as `/operator`; empty on the admin port. */
  function show(path: string, view: (request: Request) => Promise<View>): void {
    app.get(path, async (request, response) => send(response, await view(request)));
  }
}

function send(response: Response, view: View): void {
  response.status(view.status ?? 200).set(HEADERS);
  response.send(layout(response.req.baseUrl, view));
}

function refuse(response: Response, status: number, message: string): void {
  send(response, problem(status, message));
}

function problem(status: number, message: string): View {
  return { title: "Not done", main: markup`<p>${message}</p>`, status };
}

function stateWord({ state }: { state: string }): Markup {
  return markup`<strong class="${state}">${state}</strong>`;
}

function hidden(name: string, value: string | undefined): Markup {
  return markup`<input type="hidden" name="${name}" value="${value}" />`;
}

function wordsOf({ ids, ...filter }: Selection): string {
  const words = [ids && `${String(ids.length)} chosen`, ...Object.values(filter)];
  return words.filter(Boolean).join(", ") || "all";
}

/** The page that shows a selection. */
function placeOf({ ids, ...filter }: Omit<Selection, "sinceMs">): string {
  return ids?.length === 1 ? `/event?id=${String(ids)}` : link("/events", filter);
}

const idsSchema = z.array(eventIdSchema).min(1, "tick an event first").max(LIST_LIMIT);
const questionSchema = filterSchema
  .omit({ before_seq: true })
  .extend({
    action: z.enum(["requeue", "discard"]),
    id: z.preprocess((ids) => [ids].flat().filter(Boolean), idsSchema).optional(),
  })
  .transform(({ action: kind, id: ids, ...filter }) => ({ kind, selection: { ids, ...filter } }));
/** `total` is the number of jobs that the question showed. */
const formSchema = z.object({
  reason: z.string().max(200).optional(),
  total: z.string().max(30).default("all"),
});

/** Browsers send the origin of a form: another site must not act with this operator's rights. */
function isOwnForm({ headers }: Request): boolean {
  const { origin, host, "sec-fetch-site": site } = headers;
  if (site !== undefined) return site === "same-origin";
  return origin === undefined || [`http://${host}`, `https://${host}`].includes(origin);
}

type Asked = Action & { selection: Omit<Selection, "sinceMs">; total: string };
type Past = Asked & {
  number: number;
  operator: string;
  state: "running" | "done" | "canceled" | "failed";
  /** How many jobs were changed so far. */
  changed: number;
  startedMs: number;
  endedMs?: number;
};

/** Runs operators' actions and keeps the last ten in memory, latest first. */
function createActions({ ledger, log, clock }: Pick<PageOptions, "ledger" | "log" | "clock">) {
  const past: Past[] = [];
  /** Resolves when the action has ended. It continues without the browser, and stops early once its state is `canceled`. */
  const run = async (asked: Asked, operator: string): Promise<void> => {
    const begun = { number: (past[0]?.number ?? 0) + 1, changed: 0, startedMs: clock.nowMs() };
    const now: Past = { ...asked, ...begun, operator, state: "running" };
    past.splice(0, PAST_KEPT, now, ...past.slice(0, PAST_KEPT - 1));
    try {
      for await (now.changed of act(ledger, asked.selection, asked)) if (now.state !== "running") break;
      if (now.state === "running") now.state = "done";
    } catch (err) {
      now.state = "failed";
      log.error({ err }, "an operator's action failed");
    }
    now.endedMs = clock.nowMs();
    const { kind, reason, selection: what, changed: jobs, state: ended } = now;
    log.warn({ operator, kind, reason, ...what, ids: what.ids?.length, jobs, ended }, "an operator's action");
  };
  return { past, run };
}
