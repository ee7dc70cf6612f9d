import { TypeMark } from "../components/chips.js";
import { BodyView } from "../components/code-view.js";
import { Copyable } from "../components/copy-button.js";
import { Empty, Loading, Problem } from "../components/empty.js";
import { DeliveryRow } from "../components/feed-row.js";
import { Icon } from "../components/icon.js";
import { PageHead, Panel } from "../components/page.js";
import { control } from "../core/api.js";
import { countOf, fullTimeOf, shortId } from "../core/format.js";
import { html } from "../core/html.js";
import { useKeys } from "../core/keys.js";
import { useLive } from "../core/live.js";
import { useLoaded } from "../core/load.js";
import { hrefTo, listPath, navigate } from "../core/route.js";
import { attempt, toast } from "../core/toasts.js";
import { lineOf } from "../core/words.js";

const ORIGINS = {
  world: "the business itself",
  trigger: "a trigger",
  replay: "a replay",
  test: "the test action of an endpoint",
};

/** One event: its envelope and all its deliveries. */
export function EventPage({ id }) {
  const { feed } = useLive();
  const {
    value: event,
    error,
    reload,
  } = useLoaded(id, () => control.get(`/events/${encodeURIComponent(id)}`));
  useKeys({ u: () => navigate(listPath()) });

  if (error !== undefined && event === undefined)
    return html`<${PageHead} title="Event" /><${Problem} error=${error}
        ><p><a href=${hrefTo(listPath())}>Back to Live</a></p><//
      >`;
  if (event === undefined) return html`<${PageHead} title="Event" /><${Loading} />`;

  async function replay(newIds) {
    const body = { envelopes: [event.envelope], new_ids: newIds };
    const replayed = await attempt(() => control.post("/replay", body));
    if (replayed === undefined) return;
    toast(
      "ok",
      `Sent to ${countOf(replayed.deliveries.length, "endpoint")}${newIds ? " under a new id" : " under the same id"}.`,
    );
    if (newIds) navigate(`/events/${replayed.events[0].id}`);
    else await reload();
  }
  const deliveries = event.deliveries.map((delivery) => feed.get(delivery.id) ?? delivery);
  return html`<p class="crumbs">
      <a href=${hrefTo(listPath())}><${Icon} name="back" size=${14} />Live</a>
    </p>
    <${PageHead}
      shortTitle=${`Event ${event.type}`}
      title=${html`<span class="type"><${TypeMark} type=${event.type} /><span class="foreign">${lineOf({ summary: event.summary, event_type: event.type })}</span></span>`}
      lead=${html`<code class="foreign">${event.type}</code> ${`set off by ${ORIGINS[event.origin] ?? event.origin}, ${fullTimeOf(event.created_at)} of schedule time.`}`}
    >
      <button
        type="button"
        class="button"
        onClick=${() => replay(false)}
        title="A receiver that is right handles it only once"
      >
        <${Icon} name="resend" size=${15} />Send again, same id
      </button>
      <button type="button" class="button" onClick=${() => replay(true)}>
        <${Icon} name="plus" size=${15} />Send again, new id
      </button>
    <//>
    <dl class="facts event-facts">
      <div>
        <dt>Event</dt>
        <dd><${Copyable} text=${event.id} shown=${shortId(event.id)} label="Copy the event id" /></dd>
      </div>
      <div>
        <dt>Organization</dt>
        <dd><code>${event.org_id}</code></dd>
      </div>
    </dl>
    <${Panel} title=${countOf(deliveries.length, "delivery", "deliveries")}>
      ${
        deliveries.length === 0
          ? html`<${Empty} icon="endpoints" title="It went to nobody"
              ><p>
                No endpoint had selected it. <a href=${hrefTo("/endpoints")}>Look at the endpoints</a>, then
                send it again.
              </p><//
            >`
          : html`<div class="feed in-panel">
              <ol class="plain-rows">
                ${deliveries.map((delivery) => html`<li key=${delivery.id}><${DeliveryRow} delivery=${delivery} /></li>`)}
              </ol>
            </div>`
      }
    <//>
    <${Panel} title="Envelope"><${BodyView} text=${JSON.stringify(event.envelope)} label="Envelope" /><//>`;
}
