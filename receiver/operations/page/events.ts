import { EVENT_STATES, type EventFilter, type InboxEvent, type InboxJob } from "../../engine.ts";
import { shownType } from "../privacy.ts";
import { html, type Html } from "./html.ts";
import { hidden, moment, requeueForm, table, type Fields } from "./layout.ts";

/** A page of the list, newest first, with boxes to choose what to requeue. */
export function eventList(options: {
  events: readonly InboxEvent[];
  filter: EventFilter;
  /** Where the next page begins; undefined on the last. */
  nextBeforeSeq: number | undefined;
  handlers: readonly string[];
  nowMs: number;
}): Html {
  const { events, filter, nextBeforeSeq, handlers, nowMs } = options;
  const canRequeue = events.some(({ state }) => state === "dead" || state === "ignored");
  const rows = events.map((event) => row(event, nowMs));
  return html`${filterForm(filter, handlers)} ${events.length === 0 && html`<p>No event matches.</p>`}
    <form method="post" action="/requeue">
      ${hidden([["handler", filter.handler]])}
      ${table(["-Choice", "Event", "State", "Attempts", "Received", "Last error"], rows)}
      ${canRequeue && html`<p><button>Requeue the chosen …</button></p>`}
    </form>
    ${(filter.state === "dead" || filter.state === "ignored") && requeueForm(Object.entries(filter), "Requeue all that match …")}
    ${
      nextBeforeSeq !== undefined &&
      html`<p>
        <a href="/events?${query({ ...filter, before_seq: String(nextBeforeSeq) })}">Older events</a>
      </p>`
    }`;
}

function filterForm(filter: EventFilter, handlers: readonly string[]): Html {
  const select = (label: string, name: "state" | "handler", values: readonly string[]): Html =>
    html`<label
      ><span>${label}</span
      ><select name="${name}">
        <option></option>
        ${values.map((value) => html`<option ${value === filter[name] && "selected"}>${value}</option>`)}
      </select></label
    >`;
  return html`<form class="filter" method="get" action="/events">
    ${select("State", "state", EVENT_STATES)} ${select("Handler", "handler", handlers)}
    <label><span>Type</span><input name="type" value="${filter.type}" /></label>
    <button>Show</button>
  </form>`;
}

function row(event: InboxEvent, nowMs: number): Html {
  const isChoosable = event.state === "dead" || event.state === "ignored";
  return html`<tr>
    <td>
      ${isChoosable && html`<input type="checkbox" name="id" value="${event.id}" aria-label="Choose ${event.id}" />`}
    </td>
    <td><a href="/events/${event.id}">${typeOf(event)}</a> <code class="quiet">${event.id}</code></td>
    <td class="${event.state}">${event.state}</td>
    <td data-name="Attempts">${event.attempts}</td>
    <td>${moment(event.receivedAtMs, nowMs)}</td>
    <td>${event.lastError}</td>
  </tr>`;
}

/** One event with its jobs; `body` is its envelope as text, redacted or not. */
export function eventPage(options: {
  event: InboxEvent;
  body: string | undefined;
  isRedacted: boolean;
  nowMs: number;
}): Html {
  const { event, body, isRedacted, nowMs } = options;
  return html`<p><code>${event.id}</code></p>
    <p>
      <strong class="${event.state}">${event.state}</strong> · received ${moment(event.receivedAtMs, nowMs)} ·
      ${event.source === "reconcile" ? "found missing by reconcile" : "brought by the service"} ·
      ${event.duplicates === 1 ? "1 duplicate" : `${String(event.duplicates)} duplicates`}
    </p>
    <h2>Jobs</h2>
    ${event.jobs.length === 0 && html`<p>None${event.state === "ignored" ? ": no handler wants this type" : " yet"}.</p>`}
    ${table(
      ["Handler", "State", "Attempts", "When", "Last error", "-Action"],
      event.jobs.map((job) => jobRow(event.id, job, nowMs)),
    )}
    ${event.jobs.length === 0 && event.state === "ignored" && requeueOne(event.id)}
    <h2>Envelope</h2>
    ${
      body === undefined
        ? html`<p>It is not kept any more.</p>`
        : html`<pre>${lines(body)}</pre>
            ${isRedacted && html`<p class="quiet">Without what may be about a person. ADMIN_SHOW_BODIES=true shows all of it.</p>`}`
    }`;
}

function jobRow(id: string, job: InboxJob, nowMs: number): Html {
  const { handler, state, deferred, nextAttemptAtMs } = job;
  const word = nextAttemptAtMs === null ? "ended" : deferred ? "put off until" : "next attempt";
  const atMs = nextAttemptAtMs ?? job.finishedAtMs;
  return html`<tr>
    <td>${handler}</td>
    <td class="${state}">${state}</td>
    <td data-name="Attempts">${job.attempts}</td>
    <td>${atMs !== null && html`${word} ${moment(atMs, nowMs)}`}</td>
    <td>${job.lastError}</td>
    <td>${(state === "dead" || state === "ignored") && requeueOne(id, handler)}</td>
  </tr>`;
}

function requeueOne(id: string, handler?: string): Html {
  return requeueForm(Object.entries({ id, handler }), "Requeue …");
}

/** Asks before anything happens, with the number of events that it would concern. */
export function confirmation(options: { count: number; fields: Fields; back: string }): Html {
  const { count, fields, back } = options;
  if (count === 0)
    return html`<p>Nothing to requeue: no dead or ignored job matches.</p>
      <p><a href="${back}">Back</a></p>`;
  return html`<p>
      ${count.toLocaleString("en")} ${count === 1 ? "event gets" : "events get"} all attempts anew.
    </p>
    ${requeueForm(
      [...fields, ["confirmed", "yes"]],
      html`<button class="primary">Requeue ${count.toLocaleString("en")}</button>
        <a class="button" href="${back}">Leave them</a>`,
    )}`;
}

/** Shown after a requeue. */
export function requeued(count: number): Html {
  return html`<p>${count.toLocaleString("en")} ${count === 1 ? "event was" : "events were"} requeued.</p>
    <p><a href="/">Overview</a> · <a href="/events">Events</a></p>`;
}

function typeOf({ type }: InboxEvent): string {
  return type === null ? "forgotten" : shownType(type);
}

/** Line breaks are ours; everything else in a body is text. */
function lines(text: string): Html[] {
  return text.split("\n").map((line) => html`${line}${{ markup: "\n" }}`);
}

function query(fields: Readonly<Record<string, string | undefined>>): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) given.set(name, value);
  return given.toString();
}
