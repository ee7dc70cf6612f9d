import { useEffect, useState } from "preact/hooks";
import { control } from "../core/api.js";
import { html } from "../core/html.js";
import { useLive } from "../core/live.js";
import { attempt } from "../core/toasts.js";
import { OutcomeChip } from "./chips.js";
import { Icon } from "./icon.js";
import { VerdictLine } from "./verdict-mark.js";

/** Sends a test event to an endpoint, as often as one likes, and shows what the receiver made of it. */
export function TestEvent({ endpoint, isSentAtOnce }) {
  const { feed } = useLive();
  const [id, setId] = useState();
  const [isBusy, setBusy] = useState(false);
  const delivery = id === undefined ? undefined : feed.get(id);
  const last = delivery?.attempts.at(-1);
  const isUnderWay = isBusy || (id !== undefined && !last?.ended_at);

  /** What waits is tried again now, so that nothing of a first try is left behind. */
  async function send() {
    setBusy(true);
    if (delivery?.next_attempt_at)
      await attempt(() => control.post(`/deliveries/${encodeURIComponent(id)}/attempt`));
    else {
      const sent = await attempt(() => control.post(`/endpoints/${encodeURIComponent(endpoint.id)}/test`));
      if (sent !== undefined) setId(sent.deliveries[0].id);
    }
    setBusy(false);
  }
  useEffect(() => {
    if (isSentAtOnce) void send();
  }, []);

  return html`<section class="test-event" aria-label="Test event">
    <header>
      <h3>Test event</h3>
      ${last && html`<${OutcomeChip} attempt=${last} />`}
      <span class="spacer"></span>
      <button type="button" class="button small" disabled=${isUnderWay} onClick=${send}>
        <${Icon} name="trigger" size=${14} />${id === undefined ? "Send a test event" : "Send again"}
      </button>
    </header>
    ${
      last?.ended_at
        ? html`<${VerdictLine} delivery=${delivery} />`
        : html`<p class="muted" role="status">
            ${
              isUnderWay
                ? "On its way…"
                : "Once your receiver has the secret, this shows whether it takes what is signed with it."
            }
          </p>`
    }
    ${
      last?.http_status === 401 &&
      html`<p class="muted">
        Most likely it does not know this secret yet: put the line into its <code>.env</code>, start it again,
        and press Send again.
      </p>`
    }
  </section>`;
}
