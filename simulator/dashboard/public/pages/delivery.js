import { useEffect, useState } from "preact/hooks";
import { AttemptView } from "../components/attempt-view.js";
import { Chip, StateChip, TypeName } from "../components/chips.js";
import { CopyButton, Copyable, copyText } from "../components/copy-button.js";
import { Loading, Problem } from "../components/empty.js";
import { Icon } from "../components/icon.js";
import { PageHead } from "../components/page.js";
import { Timeline } from "../components/timeline.js";
import { control } from "../core/api.js";
import { attemptCurl } from "../core/curl.js";
import { fullTimeOf, shortId } from "../core/format.js";
import { html } from "../core/html.js";
import { useKeys } from "../core/keys.js";
import { useLive } from "../core/live.js";
import { useLoaded } from "../core/load.js";
import { hrefTo, navigate } from "../core/route.js";
import { attempt, toast } from "../core/toasts.js";

/** One delivery: its six slots, and each attempt down to the bytes. */
export function DeliveryPage({ id }) {
  const { feed } = useLive();
  const path = `/deliveries/${encodeURIComponent(id)}`;
  const { value: delivery, error, reload } = useLoaded(id, () => control.get(path));
  const [chosen, setChosen] = useState();
  const heard = feed.get(id);
  useEffect(() => {
    if (heard !== undefined) void reload();
  }, [heard]);

  const attempts = delivery?.attempts ?? [];
  const number = Math.min(chosen ?? attempts.length, attempts.length);
  const shown = attempts[number - 1];
  const canAttempt = delivery !== undefined && delivery.next_attempt_at !== null;

  async function attemptNow() {
    if (!canAttempt) return toast("bad", "No attempt waits: there is nothing to bring forward.");
    setChosen(undefined);
    await attempt(() => control.post(`${path}/attempt`));
    await reload();
  }
  async function resend() {
    if (delivery === undefined) return;
    const resent = await attempt(() => control.post(`${path}/resend`));
    if (resent === undefined) return;
    toast("ok", `Sent again as ${shortId(resent.id)}, with six attempts of its own.`);
    navigate(`/deliveries/${resent.id}`);
  }
  const curl = () => attemptCurl(delivery.url ?? "http://localhost:3000/webhooks", shown.request);
  useKeys({
    a: attemptNow,
    r: resend,
    c: async () => {
      if (shown && (await copyText(curl()))) toast("ok", "Copied as curl.");
    },
    u: () => navigate("/"),
    ArrowLeft: () => setChosen(Math.max(1, number - 1)),
    ArrowRight: () => setChosen(Math.min(attempts.length, number + 1)),
  });

  if (error !== undefined && delivery === undefined)
    return html`<${PageHead} title="Delivery" /><${Problem} error=${error}
        ><p><a href=${hrefTo("/")}>Back to Live</a></p><//
      >`;
  if (delivery === undefined) return html`<${PageHead} title="Delivery" /><${Loading} />`;

  return html`<p class="crumbs">
      <a href=${hrefTo("/")}><${Icon} name="back" size=${14} />Live</a>
    </p>
    <${PageHead}
      shortTitle=${`Delivery ${delivery.event_type}`}
      title=${html`<${TypeName} type=${delivery.event_type} /> <${StateChip} state=${delivery.state} />`}
    >
      <button
        type="button"
        class="button"
        disabled=${!canAttempt}
        title="Make the next attempt now (a)"
        onClick=${attemptNow}
      >
        <${Icon} name="next" size=${15} />Next attempt now
      </button>
      <button
        type="button"
        class="button"
        title="Send the same event again, with six attempts of its own (r)"
        onClick=${resend}
      >
        <${Icon} name="resend" size=${15} />Resend
      </button>
      ${shown && html`<${CopyButton} text=${curl} label="Copy as curl" />`}
    <//>
    <${Facts} delivery=${delivery} />
    <${Timeline} delivery=${delivery} chosen=${number} onChoose=${setChosen} />
    ${
      shown
        ? html`<${AttemptView} key=${number} attempt=${shown} />`
        : html`<div class="notice">
            <p>
              No attempt has been made yet: the first one is due
              ${fullTimeOf(delivery.next_attempt_at ?? delivery.created_at)} of schedule time.
            </p>
          </div>`
    }`;
}

function Facts({ delivery }) {
  const { id, event_id: eventId, endpoint_id: endpointId, url, created_at: createdAt } = delivery;
  return html`<dl class="facts">
    <div>
      <dt>Endpoint</dt>
      <dd class="foreign">
        ${url === null ? html`${endpointId} <span class="muted">(deleted)</span>` : html`<a href=${hrefTo(`/endpoints/${endpointId}`)}>${url}</a>`}
      </dd>
    </div>
    <div>
      <dt>Event</dt>
      <dd>
        <a href=${hrefTo(`/events/${eventId}`)}><code>${shortId(eventId)}</code></a
        ><${CopyButton} quiet text=${eventId} label="Copy the event id" />
      </dd>
    </div>
    <div>
      <dt>Delivery</dt>
      <dd><${Copyable} text=${id} label="Copy the delivery id" /></dd>
    </div>
    <div>
      <dt>Created</dt>
      <dd><time datetime=${createdAt} title=${createdAt}>${fullTimeOf(createdAt)}</time></dd>
    </div>
    ${
      delivery.resend_of !== null &&
      html`<div>
        <dt>Resent for</dt>
        <dd>
          <a href=${hrefTo(`/deliveries/${delivery.resend_of}`)}><code>${delivery.resend_of}</code></a>
        </dd>
      </div>`
    }
    ${
      delivery.faults.length > 0 &&
      html`<div>
        <dt>Faults</dt>
        <dd>${delivery.faults.map((fault) => html`<${Chip} tone="accent">${fault}<//>`)}</dd>
      </div>`
    }
  </dl>`;
}
