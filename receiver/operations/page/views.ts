import type { Counts, EventFilter, InboxEvent, InboxJob } from "../../store/port.ts";
import type { WorkerStatus } from "../health.ts";
import { shownType } from "../privacy.ts";
import type { BulkJob, Choice } from "./bulk.ts";
import { lines, markup, type Markup } from "./markup.ts";
import { actions, filterForm, grouped, hidden, link, moment, table, type Base } from "./parts.ts";

/** A body that is longer is downloaded. */
export const LONGEST_SHOWN_BYTES = 65_536;

/** What an operator looks at first: what is stuck, why and since when; then each handler. */
export function overview(page: {
  base: Base;
  nowMs: number;
  counts: Counts;
  /** When the oldest job of each of the first causes died. */
  sinceMs: readonly (number | undefined)[];
  lastMinute: ReadonlyMap<string, number>;
  checks: Readonly<Record<string, string>>;
  worker: WorkerStatus | undefined;
}): Markup {
  const { base, nowMs, counts, sinceMs, lastMinute, checks, worker } = page;
  const problems = Object.entries(checks).filter(([, found]) => found !== "ok");
  const causes = counts.causes.map(({ handler, cause, dead }, index) => {
    const chosen = { state: "dead", handler, cause };
    const since = sinceMs[index];
    return markup`<tr><td data-name="Handler">${handler}</td><td class="wide"><a href="${link(`${base}/events`, chosen)}">${cause}</a></td>
<td class="number" data-name="Dead">${grouped(dead)}</td><td data-name="Since">${since !== undefined && moment(since, nowMs)}</td><td>${actions(base, chosen, "")}</td></tr>`;
  });
  const handlers = counts.handlers.map((jobs) => {
    const { handler, oldestUnfinishedAtMs: oldest } = jobs;
    const number = (name: string, count: number, state?: string): Markup =>
      markup`<td class="number ${count > 0 && state}" data-name="${name}">${state === undefined ? grouped(count) : markup`<a href="${link(`${base}/events`, { state, handler })}">${grouped(count)}</a>`}</td>`;
    return markup`<tr><td>${handler}</td>${number("Waiting", jobs.waiting, "waiting")}${number("Running", jobs.running, "running")}${number("Failing", jobs.failing)}${number("Dead", jobs.dead, "dead")}${number("Ignored", jobs.ignored, "ignored")}
<td data-name="Oldest unfinished">${oldest !== null && moment(oldest, nowMs)}</td>${number("Ended in the last minute", lastMinute.get(handler) ?? 0)}</tr>`;
  });
  return markup`${worker?.state === "broken" && markup`<p class="alert" role="alert"><strong>The handlers could not be started.</strong> Events are taken and wait. ${worker.problem}</p>`}
${problems.map(([name, found]) => markup`<p class="alert" role="alert">${name}: ${found}</p>`)}
<h2>Dead, by cause</h2>${causes.length === 0 ? markup`<p class="done">Nothing is dead.</p>` : table(["Handler", "Why", "#Dead", "Since (UTC)", ""], causes)}
<h2>Handlers</h2>${handlers.length === 0 ? markup`<p>No worker has started yet.</p>` : table(["Handler", "#Waiting", "#Running", "#Failing", "#Dead", "#Ignored", "Oldest unfinished (UTC)", "#Ended in the last minute"], handlers)}
<p class="quiet">${grouped(counts.events)} events are known. No handler wanted <a href="${link(`${base}/events`, { state: "ignored" })}">${grouped(counts.unwanted)}</a> of them.</p>`;
}

/** A page of the list, newest first. */
export function eventList(page: {
  base: Base;
  nowMs: number;
  events: readonly InboxEvent[];
  filter: EventFilter;
  handlers: readonly string[];
  /** Where the next page begins. */
  beforeSeq: number | undefined;
}): Markup {
  const { base, nowMs, events, filter, handlers, beforeSeq } = page;
  const rows = events.map((event) => {
    const meant = event.jobs.find(({ handler }) => handler === filter.handler) ?? event;
    return markup`<tr><td><input type="checkbox" name="id" value="${event.id}" aria-label="Choose ${event.id}" /></td>
<td><a href="${base}/events/${event.id}">${typeOf(event)}</a><br /><code class="quiet">${event.id}</code></td><td class="${meant.state}">${meant.state}</td>
<td class="number" data-name="Attempts">${meant.attempts}</td><td>${moment(event.receivedAtMs, nowMs)}</td><td class="wide">${meant.lastError}</td></tr>`;
  });
  return markup`${filterForm(base, filter, handlers)}${events.length === 0 ? markup`<p>No event matches.</p>` : chosen()}`;

  function chosen(): Markup {
    return markup`<div class="row"><span>All that match:</span> ${actions(base, filter, "")}</div>
<form action="${base}/confirm">${hidden({ handler: filter.handler })}${table(["", "Event", "State", "#Attempts", "Received (UTC)", "Last error"], rows)}
<button name="action" value="requeue">Requeue the chosen…</button><button name="action" value="discard">Discard the chosen…</button></form>
${beforeSeq !== undefined && markup`<p><a href="${link(`${base}/events`, { ...filter, before_seq: beforeSeq })}">Older events</a></p>`}`;
  }
}

/** One event with its jobs and their errors; `body` is its envelope as text, or its size if that is too large to show. */
export function eventPage(page: {
  base: Base;
  nowMs: number;
  event: InboxEvent;
  body: string | number | undefined;
  isRedacted: boolean;
}): Markup {
  const { base, nowMs, event, body, isRedacted } = page;
  const { id, state, source, duplicates, jobs } = event;
  const download = `${base}/events/${id}/body`;
  return markup`<p><code>${id}</code></p><p><strong class="${state}">${state}</strong> · received ${moment(event.receivedAtMs, nowMs)} UTC${source === "reconcile" && " · found missing by reconcile"} · ${duplicates} ${duplicates === 1 ? "duplicate" : "duplicates"}</p>
<h2>Jobs</h2>${
    jobs.length === 0
      ? markup`<p>None: no handler wanted it.</p>${state === "ignored" && actions(base, { id }, "")}`
      : table(["Handler", "State", "#Attempts", "When (UTC)", "Errors", ""], jobs.map(row))
  }
<h2>Envelope</h2>${body === undefined ? markup`<p>It is pruned.</p>` : typeof body === "number" ? markup`<p><a href="${download}">Download it</a> (${grouped(body)} bytes)</p>` : markup`<pre>${lines(body)}</pre>`}
${isRedacted && markup`<p class="quiet">Without what may be about a person. ADMIN_SHOW_BODIES=true shows all of it.</p>`}`;

  function row(job: InboxJob): Markup {
    const { handler, held, deferred, nextAttemptAtMs: nextMs, finishedAtMs } = job;
    const atMs = nextMs ?? finishedAtMs;
    const word = held
      ? "waits behind its key"
      : nextMs === null
        ? "ended"
        : deferred
          ? "put off until"
          : "next attempt";
    const errors = job.errors.map(
      ({ attempt, atMs, error }) => markup`<div>${moment(atMs, nowMs)} attempt ${attempt}: ${error}</div>`,
    );
    return markup`<tr><td>${handler}</td><td class="${job.state}">${job.state}</td><td class="number" data-name="Attempts">${job.attempts}</td>
<td>${atMs !== null && markup`${word} ${moment(atMs, nowMs)}`}</td><td class="wide">${errors}</td><td>${job.state !== "done" && job.state !== "running" && actions(base, { id, handler }, "")}</td></tr>`;
  }
}

/** The question before anything happens: how many jobs of which handler and cause. */
export function confirmation(page: {
  base: Base;
  action: "requeue" | "discard";
  choices: readonly Choice[];
  isMore: boolean;
  fields: Readonly<Record<string, string | readonly string[] | undefined>>;
  back: string;
}): Markup {
  const { base, action, choices, isMore, fields, back } = page;
  const total = choices.reduce((sum, { jobs }) => sum + jobs, 0);
  if (total === 0)
    return markup`<p>No job that can be ${action}ed matches.</p><p><a href="${back}">Back</a></p>`;
  const rows = choices.map(
    ({ handler, cause, jobs }) =>
      markup`<tr><td>${handler}</td><td class="wide">${cause}</td><td class="number" data-name="Jobs">${grouped(jobs)}</td></tr>`,
  );
  const count = `${isMore ? "more than " : ""}${grouped(total)} ${total === 1 ? "job" : "jobs"}`;
  return markup`${table(["Handler", "Why", "#Jobs"], rows)}<p>${action === "requeue" ? "They wait again, due at once, with all their attempts before them." : "They end as ignored, and stay visible with the reason."}</p>
<form method="post" action="${base}/confirm">${hidden({ action, back, ...fields })}${action === "discard" && markup`<label><span>Reason</span><input name="reason" required maxlength="200" size="40" /></label>`}
<button class="${action === "requeue" ? "primary" : "danger"}">${action === "requeue" ? "Requeue" : "Discard"} ${count}</button><a class="button" href="${back}">Leave them</a></form>`;
}

/** What operators did lately, and how far it is. */
export function bulkJobs(base: Base, jobs: readonly BulkJob[]): Markup[] {
  return jobs.map(({ id, what, done, state }) => {
    const cancel =
      state === "running" &&
      markup`<form method="post" action="${base}/cancel">${hidden({ job: String(id) })}<button>Cancel</button></form>`;
    return markup`<div class="note" role="status">${what}: ${grouped(done)} ${done === 1 ? "event" : "events"}${state !== "done" && `, ${state}`}${cancel}</div>`;
  });
}

function typeOf({ type }: InboxEvent): string {
  return type === null ? "pruned" : shownType(type);
}
