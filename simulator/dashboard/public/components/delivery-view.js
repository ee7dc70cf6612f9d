import { useEffect, useState } from "preact/hooks";
import { control } from "../core/api.js";
import { attemptCurl } from "../core/curl.js";
import { fullTimeOf, shortId } from "../core/format.js";
import { html } from "../core/html.js";
import { useKeys } from "../core/keys.js";
import { useLive } from "../core/live.js";
import { useLoaded } from "../core/load.js";
import { hrefTo, listPath, navigate } from "../core/route.js";
import { attempt, toast } from "../core/toasts.js";
import { lineOf } from "../core/words.js";
import { AttemptView } from "./attempt-view.js";
import { Chip, StateChip, TypeMark } from "./chips.js";
import { CopyButton, Copyable, copyText } from "./copy-button.js";
import { EditAndSend } from "./edit-and-send.js";
import { Loading, Problem } from "./empty.js";
import { Icon } from "./icon.js";
import { PageHead, PageTitle } from "./page.js";
import { Timeline } from "./timeline.js";
import { VerdictLine } from "./verdict-mark.js";

/** One delivery: the verdict, its six slots, and each attempt down to the bytes. */
export function DeliveryView({ id, query, isAlone }) {
  const { feed } = useLive();
  const path = `/deliveries/${encodeURIComponent(id)}`;
  const { value: delivery, error, reload } = useLoaded(id, () => control.get(path));
  const [chosen, setChosen] = useState();
  const [isEditing, setEditing] = useState(false);
  const heard = feed.get(id);
  useEffect(() => {
    if (heard !== undefined) void reload();
  }, [heard]);

  const attempts = delivery?.attempts ?? [];
  const number = Math.min(chosen ?? attempts.length, attempts.length);
  const shown = attempts[number - 1];
  const canAttempt = delivery !== undefined && delivery.next_attempt_at !== null;
  const isGone = error?.status === 404;

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
    navigate(`/deliveries/${resent.id}${query}`);
  }
  function sentEdited({ id: sentId }) {
    setEditing(false);
    toast("ok", "Sent: this is how it goes.");
    navigate(`/deliveries/${sentId}${query}`);
  }
  const curl = () => attempt(() => attemptCurl(id, number));
  useKeys({
    a: attemptNow,
    r: resend,
    e: () => shown && setEditing(true),
    c: async () => {
      const text = shown && (await curl());
      if (text && (await copyText(text))) toast("ok", "Copied as curl, signed now: good for 5 minutes.");
    },
    u: () => navigate(listPath()),
    Escape: () => navigate(listPath()),
    ArrowLeft: () => setChosen(Math.max(1, number - 1)),
    ArrowRight: () => setChosen(Math.min(attempts.length, number + 1)),
  });

  if (isGone || (error !== undefined && delivery === undefined))
    return html`<div class="delivery">
      <${PageHead} title="Delivery" as=${isAlone ? "h1" : "h2"} /><${Problem} error=${error}
        ><p><a href=${hrefTo(listPath())}>Back to Live</a></p><//
      >
    </div>`;
  if (delivery === undefined) return html`<${Loading} />`;

  return html`<article class="delivery">
    <header class="detail-head">
      <p class="detail-bar">
        <a class="button quiet small" href=${hrefTo(listPath())} title="Back to the list (u)"
          ><${Icon} name=${isAlone ? "back" : "cross"} size=${15} />${isAlone ? "Live" : "Close"}</a
        >
        <span class="spacer"></span>
        <button
          type="button"
          class="button small"
          disabled=${!canAttempt}
          title="Make the next attempt now (a)"
          onClick=${attemptNow}
        >
          <${Icon} name="next" size=${14} /><span>Next attempt<span class="beyond-phone"> now</span></span>
        </button>
        <button
          type="button"
          class="button small"
          title="Send the same event again, with six attempts of its own (r)"
          onClick=${resend}
        >
          <${Icon} name="resend" size=${14} />Resend
        </button>
        ${shown && html`<${CopyButton} small text=${curl} label="Copy as curl" title="Signed at this moment: good for 5 minutes (c)" />`}
      </p>
      <div class="detail-title">
        <${TypeMark} type=${delivery.event_type} />
        <${PageTitle}
          as=${isAlone ? "h1" : "h2"}
          className="delivery-title foreign"
          title=${lineOf(delivery)}
          takesFocus=${isAlone}
        />
        <${StateChip} state=${delivery.state} />
      </div>
      <${Facts} delivery=${delivery} />
    </header>
    <${VerdictLine} delivery=${delivery} />
    <${Timeline} delivery=${delivery} chosen=${number} onChoose=${setChosen} />
    ${
      shown
        ? html`<${AttemptView}
            key=${number}
            attempt=${shown}
            before=${attempts[number - 2]}
            curl=${curl}
            onEdit=${() => setEditing(true)}
          />`
        : html`<div class="notice">
            <p>
              No attempt has been made yet: the first one is due
              ${fullTimeOf(delivery.next_attempt_at ?? delivery.created_at)} of schedule time.
            </p>
          </div>`
    }
    ${isEditing && html`<${EditAndSend} delivery=${delivery} body=${shown.request.body} onSent=${sentEdited} onClose=${() => setEditing(false)} />`}
  </article>`;
}

/** What it is about, in one line; ids on demand. */
function Facts({ delivery }) {
  const { id, event_id: eventId, endpoint_id: endpointId, url, created_at: createdAt } = delivery;
  return html`<div class="delivery-facts">
    <p class="foreign">
      <code>${delivery.event_type}</code> to
      ${url === null ? html`${endpointId} (deleted)` : html`<a href=${hrefTo(`/endpoints/${endpointId}`)}>${url}</a>`},
      created <time datetime=${createdAt} title=${createdAt}>${fullTimeOf(createdAt)}</time>
      ${delivery.resend_of !== null && html`, resent for <a href=${hrefTo(`/deliveries/${delivery.resend_of}`)}><code>${shortId(delivery.resend_of)}</code></a>`}
      ${delivery.faults.map((fault) => html` <${Chip} tone="purpose" title="Done wrong on purpose">${fault}<//>`)}
    </p>
    <details class="ids">
      <summary>Ids and the whole event</summary>
      <dl class="facts">
        <div>
          <dt>Event</dt>
          <dd>
            <${Copyable} text=${eventId} label="Copy the event id" />
            <a class="button small" href=${hrefTo(`/events/${eventId}`)}>Open the event</a>
          </dd>
        </div>
        <div>
          <dt>Delivery</dt>
          <dd><${Copyable} text=${id} label="Copy the delivery id" /></dd>
        </div>
        <div>
          <dt>Endpoint</dt>
          <dd><${Copyable} text=${endpointId} label="Copy the endpoint id" /></dd>
        </div>
      </dl>
    </details>
  </div>`;
}
