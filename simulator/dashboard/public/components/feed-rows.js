import { dayAndTimeOf, fullTimeOf, millisecondsOf, shortId, timeOf } from "../core/format.js";
import { html } from "../core/html.js";
import { endpointOf, live } from "../core/live.js";
import { hrefTo } from "../core/route.js";
import { OutcomeChip, StateChip, TypeName } from "./chips.js";
import { Countdown } from "./countdown.js";
import { SlotStrip } from "./slot-strip.js";

/** The names of the columns; on narrow screens the rows speak for themselves. */
export function FeedHead() {
  return html`<div class="feed-row feed-head" aria-hidden="true">
    <span>Schedule / real time</span><span>Event</span><span>Endpoint</span><span>Six attempts</span
    ><span>Last attempt</span><span>State</span>
  </div>`;
}

/** One delivery in two lines. */
export function DeliveryRow({ delivery }) {
  const { id, event_id: eventId, event_type: type, attempts, endpoint_id: endpointId } = delivery;
  const last = attempts.at(-1);
  const endpoint = endpointOf(endpointId);
  return html`<a class="feed-row" href=${hrefTo(`/deliveries/${id}`)}>
    <${When} scheduleTime=${last?.started_at ?? delivery.created_at} wallTime=${last?.wall_started_at} />
    <span class="what"><${TypeName} type=${type} /><code class="muted">${shortId(eventId)}</code></span>
    <span class="where"
      ><span class="foreign">${endpoint ? endpoint.url.replace(/^https?:\/\//, "") : "endpoint deleted"}</span
      ><span class="muted">${whereWords(delivery)}</span></span
    >
    <${SlotStrip} delivery=${delivery} />
    <span class="how"
      >${last ? html`<${OutcomeChip} attempt=${last} />` : html`<span class="muted">not sent yet</span>`}<span
        class="muted"
        >${last ? `attempt ${last.number}${last.duration_ms === null ? "" : ` · ${millisecondsOf(last.duration_ms)}`}` : ""}</span
      ></span
    >
    <span class="state"
      ><${StateChip} state=${delivery.state} /><span class="muted">${nextWords(delivery)}</span></span
    >
  </a>`;
}

/** An event that no endpoint wanted. */
export function EventRow({ event }) {
  return html`<a class="feed-row lonely" href=${hrefTo(`/events/${event.id}`)}>
    <${When} scheduleTime=${event.created_at} />
    <span class="what"
      ><${TypeName} type=${event.type} /><code class="muted">${shortId(event.id)}</code></span
    >
    <span class="where muted">No endpoint has selected it: it went to nobody.</span>
  </a>`;
}

function When({ scheduleTime, wallTime }) {
  const nowDay = live.clock && dayAndTimeOf(live.clock.wall_now).slice(0, 6);
  const shown =
    dayAndTimeOf(scheduleTime).slice(0, 6) === nowDay ? timeOf(scheduleTime) : dayAndTimeOf(scheduleTime);
  const title = `Schedule time ${fullTimeOf(scheduleTime)}${wallTime ? `, real time ${fullTimeOf(wallTime)}` : ""}`;
  return html`<span class="when" title=${title}
    ><time datetime=${scheduleTime}>${shown}</time
    >${wallTime && html`<time class="muted" datetime=${wallTime}>${timeOf(wallTime)}</time>`}</span
  >`;
}

function whereWords({ resend_of: resendOf, faults, id }) {
  if (resendOf !== null) return `${shortId(id)} · resent`;
  return faults.length > 0 ? `${shortId(id)} · ${faults.join(", ")}` : shortId(id);
}

function nextWords(delivery) {
  if (delivery.next_attempt_at !== null) return html`<${Countdown} until=${delivery.next_attempt_at} />`;
  if (delivery.state === "attempting") return "in flight";
  return delivery.state === "dead" ? "no further attempt" : "";
}
