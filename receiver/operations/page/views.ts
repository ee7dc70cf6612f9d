import type { Counts, EventFilter, InboxEvent, InboxJob } from "../../store/port.ts";
import type { WorkerStatus } from "../health.ts";
import { shownType } from "../privacy.ts";
import type { Action, Choice } from "../selection.ts";
import { lines, markup, type Markup } from "./markup.ts";
import { actions, grouped, link, moment, table, type Place } from "./parts.ts";

/** What is wrong now, as alerts. */
export function alerts(checks: Readonly<Record<string, string>>, worker: WorkerStatus | undefined): Markup[] {
  const found = Object.entries(checks).filter(([, check]) => check !== "ok");
  return found.map(([name, check]) => {
    const why = name === "handlers" && worker?.problem;
    return markup`<p class="alert" role="alert"><strong>${name}: ${check}</strong> ${why && `Events are stored and wait. ${why}`}</p>`;
  });
}

/** What an operator looks at first: what is stuck, why, and since when; `sinceMs` belongs to the first causes. */
export function causes(
  { base, nowMs }: Place,
  counts: Counts,
  sinceMs: readonly (number | undefined)[],
): Markup {
  if (counts.causes.length === 0) return markup`<p class="done">Nothing is dead.</p>`;
  const rows = counts.causes.map(({ handler, cause, dead }, index) => {
    const chosen = { state: "dead", handler, cause };
    return markup`<tr><td>${handler}</td><td class="wide"><a href="${link(`${base}/events`, chosen)}">${cause}</a></td>
<td class="number" data-name="Dead">${grouped(dead)}</td><td data-name="Since">${moment(sinceMs[index], nowMs)}</td><td>${actions(base, chosen)}</td></tr>`;
  });
  return table(["Handler", "Why", "#Dead", "Since (UTC)", ""], rows);
}

/** Each handler, also one that is well. */
export function handlers(
  { base, nowMs }: Place,
  counts: Counts,
  lastMinute: ReadonlyMap<string, number>,
): Markup {
  const rows = counts.handlers.map(({ handler, oldestUnfinishedAtMs, ...jobs }) => {
    const of = (state: "waiting" | "running" | "dead" | "ignored"): Markup =>
      markup`<td class="number" data-name="${state}"><a class="${jobs[state] > 0 && state}" href="${link(`${base}/events`, { state, handler })}">${grouped(jobs[state])}</a></td>`;
    return markup`<tr><td>${handler}</td>${of("waiting")}${of("running")}<td class="number" data-name="failing">${grouped(jobs.failing)}</td>${of("dead")}${of("ignored")}
<td data-name="oldest">${moment(oldestUnfinishedAtMs, nowMs)}</td><td class="number" data-name="last minute">${grouped(lastMinute.get(handler) ?? 0)}</td></tr>`;
  });
  const columns = [
    "Handler",
    "#Waiting",
    "#Running",
    "#Failing",
    "#Dead",
    "#Ignored",
    "Oldest (UTC)",
    "#Ended in the last minute",
  ];
  const unwanted = markup`<a href="${base}/events?state=ignored">${grouped(counts.unwanted)}</a>`;
  return markup`${rows.length > 0 ? table(columns, rows) : markup`<p>No worker has started yet.</p>`}
<p class="quiet">${grouped(counts.events)} events are known. No handler wanted ${unwanted} of them.</p>`;
}

/** A page of the list, newest first; `beforeSeq` begins the next. */
export function eventList(
  { base, nowMs }: Place,
  events: readonly InboxEvent[],
  filter: EventFilter,
  beforeSeq: number | undefined,
): Markup {
  if (events.length === 0) return markup`<p>No event matches.</p>`;
  const rows = events.map((event) => {
    const { state, attempts, lastError } =
      event.jobs.find(({ handler }) => handler === filter.handler) ?? event;
    return markup`<tr><td><input type="checkbox" name="id" value="${event.id}" aria-label="Choose ${event.id}" /></td>
<td><a href="${base}/events/${event.id}">${titleOf(event)}</a><br /><code class="quiet">${event.id}</code></td><td class="${state}">${state}</td>
<td class="number" data-name="attempts">${attempts}</td><td>${moment(event.receivedAtMs, nowMs)}</td><td class="wide">${lastError}</td></tr>`;
  });
  const older = markup`<a href="${link(`${base}/events`, { ...filter, before_seq: beforeSeq?.toString() })}">Older events</a>`;
  return markup`<p>All that match: ${actions(base, filter, filter.state)}</p><form action="${base}/confirm">
${filter.handler && markup`<input type="hidden" name="handler" value="${filter.handler}" />`}
${table(["", "Event", "State", "#Attempts", "Received (UTC)", "Last error"], rows)}<button name="action" value="requeue">Requeue the chosen…</button>
<button name="action" value="discard">Discard the chosen…</button></form>${beforeSeq !== undefined && older}`;
}

/** One event with its jobs and their errors; `body` is its envelope, undefined if it was pruned. */
export function eventPage(
  { base, nowMs }: Place,
  event: InboxEvent,
  body: string | undefined,
  isRedacted: boolean,
): Markup {
  const { id, state, source, duplicates, jobs } = event;
  const row = (job: InboxJob): Markup => {
    const { handler, held, deferred, nextAttemptAtMs: nextMs } = job;
    const when = held
      ? "behind its key"
      : nextMs === null
        ? "ended"
        : deferred
          ? "put off until"
          : "next attempt";
    const errors = job.errors.map(
      ({ attempt, atMs, error }) =>
        markup`<div>${attempt}: ${error} <span class="quiet">${moment(atMs, nowMs)}</span></div>`,
    );
    const canChange = job.state !== "done" && job.state !== "running";
    return markup`<tr><td>${handler}</td><td class="${job.state}">${job.state}</td><td class="number" data-name="attempts">${job.attempts}</td>
<td>${job.state !== "running" && when} ${moment(nextMs ?? job.finishedAtMs, nowMs)}</td><td class="wide">${job.state === "ignored" ? job.lastError : errors}</td><td>${canChange && actions(base, { id, handler }, job.state)}</td></tr>`;
  };
  const columns = ["Handler", "State", "#Attempts", "When (UTC)", "Errors by attempt", ""];
  const how = source === "reconcile" ? "found missing by reconcile" : "sent by the service";
  return markup`<p><code>${id}</code></p><p><strong class="${state}">${state}</strong> · ${how} · received ${moment(event.receivedAtMs, nowMs)} · ${duplicates} more deliveries</p>
${jobs.length > 0 ? table(columns, jobs.map(row)) : markup`<p>No handler wanted it. ${state === "ignored" && actions(base, { id }, state)}</p>`}
<h2>Envelope</h2>${body === undefined ? markup`<p>It is pruned.</p>` : markup`<pre>${lines(body)}</pre>`}
${isRedacted && markup`<p class="quiet">Without what may be about a person. ADMIN_SHOW_BODIES=true shows all of it.</p>`}`;
}

/** The question before anything happens: how many jobs, of which handler, with which cause. */
export function confirmation(
  kind: Action["kind"],
  { choices, isMore }: { choices: readonly Choice[]; isMore: boolean },
  back: string,
): Markup {
  const total = choices.reduce((sum, { jobs }) => sum + jobs, 0);
  const leave = markup`<a class="button" href="${back}">Back</a>`;
  if (total === 0) return markup`<p>No job that matches can be ${kind}ed.</p><p>${leave}</p>`;
  const rows = choices.map(
    ({ handler = "no handler wanted it", cause, jobs }) =>
      markup`<tr><td>${handler}</td><td class="wide">${cause}</td><td class="number" data-name="jobs">${grouped(jobs)}</td></tr>`,
  );
  const [verb, then, look] =
    kind === "requeue"
      ? ["Requeue", "They wait again, due at once, with all their attempts before them.", "primary"]
      : ["Discard", "They end as ignored, and stay visible with the reason.", "danger"];
  const reason =
    kind === "discard" &&
    markup`<label><span>Reason</span><input name="reason" required maxlength="200" size="40" /></label>`;
  return markup`${table(["Handler", "Why", "#Jobs"], rows)}<p>${then}</p><form method="post">${reason}
<button class="${look}">${verb} ${isMore && "more than "}${grouped(total)} ${total === 1 ? "job" : "jobs"}</button> ${leave}</form>`;
}

export function titleOf({ type }: InboxEvent): string {
  return type === null ? "pruned" : shownType(type);
}
