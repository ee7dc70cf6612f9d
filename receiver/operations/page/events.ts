import { EVENT_STATES, type EventFilter, type InboxEvent } from "../../engine.ts";
import { shownType } from "../privacy.ts";
import { html, type Html } from "./html.ts";
import { moment } from "./layout.ts";

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
  return html`${filterForm(filter, handlers)} ${events.length === 0 && html`<p>No event matches.</p>`}
    <form method="post" action="/requeue">
      ${filter.handler !== undefined && html`<input type="hidden" name="handler" value="${filter.handler}" />`}
      <table>
        <thead>
          <tr>
            <th><span class="unseen">Choice</span></th>
            <th>Event</th>
            <th>State</th>
            <th>Attempts</th>
            <th>Received</th>
            <th>Last error</th>
          </tr>
        </thead>
        <tbody>
          ${events.map((event) => row(event, nowMs))}
        </tbody>
      </table>
      ${canRequeue && html`<p><button>Requeue the chosen …</button></p>`}
    </form>
    ${(filter.state === "dead" || filter.state === "ignored") && requeueAll(filter)}
    ${
      nextBeforeSeq !== undefined &&
      html`<p>
        <a href="/events?${query({ ...filter, before_seq: String(nextBeforeSeq) })}">Older events</a>
      </p>`
    }`;
}

function filterForm(filter: EventFilter, handlers: readonly string[]): Html {
  const options = (values: readonly string[], chosen: string | undefined): Html[] =>
    values.map((value) => html`<option ${value === chosen && "selected"}>${value}</option>`);
  return html`<form class="filter" method="get" action="/events">
    <label
      ><span>State</span
      ><select name="state">
        <option></option>
        ${options(EVENT_STATES, filter.state)}
      </select></label
    >
    <label
      ><span>Handler</span
      ><select name="handler">
        <option></option>
        ${options(handlers, filter.handler)}
      </select></label
    >
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

function requeueAll(filter: EventFilter): Html {
  const fields = Object.entries(filter).filter(([, value]) => value !== undefined);
  return html`<form method="post" action="/requeue">
    ${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
    <button>Requeue all that match …</button>
  </form>`;
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
    <table>
      <thead>
        <tr>
          <th>Handler</th>
          <th>State</th>
          <th>Attempts</th>
          <th>When</th>
          <th>Last error</th>
          <th><span class="unseen">Action</span></th>
        </tr>
      </thead>
      <tbody>
        ${event.jobs.map((job) => {
          const [word, atMs] =
            job.nextAttemptAtMs === null
              ? (["ended", job.finishedAtMs] as const)
              : ([job.deferred ? "put off until" : "next attempt", job.nextAttemptAtMs] as const);
          return html`<tr>
            <td>${job.handler}</td>
            <td class="${job.state}">${job.state}</td>
            <td data-name="Attempts">${job.attempts}</td>
            <td>${atMs !== null && html`${word} ${moment(atMs, nowMs)}`}</td>
            <td>${job.lastError}</td>
            <td>${(job.state === "dead" || job.state === "ignored") && requeueOne(event.id, job.handler)}</td>
          </tr>`;
        })}
      </tbody>
    </table>
    ${event.jobs.length === 0 && event.state === "ignored" && requeueOne(event.id)}
    <h2>Envelope</h2>
    ${
      body === undefined
        ? html`<p>It is not kept any more.</p>`
        : html`<pre>${lines(body)}</pre>
            ${isRedacted && html`<p class="quiet">Without what may be about a person. ADMIN_SHOW_BODIES=true shows all of it.</p>`}`
    }`;
}

function requeueOne(id: string, handler?: string): Html {
  return html`<form method="post" action="/requeue">
    <input type="hidden" name="id" value="${id}" />
    ${handler !== undefined && html`<input type="hidden" name="handler" value="${handler}" />`}<button>
      Requeue …
    </button>
  </form>`;
}

/** Asks before anything happens, with the number of events that it would concern. */
export function confirmation(options: {
  count: number;
  fields: readonly (readonly [string, string])[];
  back: string;
}): Html {
  const { count, fields, back } = options;
  if (count === 0)
    return html`<p>Nothing to requeue: no dead or ignored job matches.</p>
      <p><a href="${back}">Back</a></p>`;
  return html`<p>
      ${count.toLocaleString("en")} ${count === 1 ? "event gets" : "events get"} all attempts anew.
    </p>
    <form method="post" action="/requeue">
      ${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
      <input type="hidden" name="confirmed" value="yes" />
      <button class="primary">Requeue ${count.toLocaleString("en")}</button>
      <a class="button" href="${back}">Leave them</a>
    </form>`;
}

/** What came of it. */
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
