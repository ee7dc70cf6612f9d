import { control } from "../core/api.js";
import { commandLine } from "../core/command.js";
import { html } from "../core/html.js";
import { useLive } from "../core/live.js";
import { hrefTo, navigate } from "../core/route.js";
import { tellSecret } from "../core/told-secret.js";
import { attempt } from "../core/toasts.js";
import { Copyable } from "./copy-button.js";
import { Empty } from "./empty.js";
import { isFound, ReceiverOffers } from "./receiver-offers.js";

/** Nothing was sent yet: what to do first depends on whether there is somebody to send to. */
export function EmptyFeed() {
  const { endpoints } = useLive();
  if (endpoints === undefined || endpoints.size === 0)
    return html`<${Empty} icon="endpoints" title="Nobody to deliver to yet">
      <p>Press the port of your receiver: it is registered, and a first event sent to it.</p>
      <${ReceiverOffers} onFound=${register} />
      <p><a class="button accent" href=${hrefTo("/endpoints?new")}>Register an endpoint</a></p>
      <${FromShell} words=${["endpoints", "add", "http://localhost:3000/webhooks"]} />
    <//>`;
  return html`<${Empty} icon="trigger" title="Nothing has happened yet">
    <p>Let a call end, a caller leave a voicemail or an order come in, and watch its delivery here.</p>
    <p><a class="button accent" href=${hrefTo("/trigger")}>Trigger an event</a></p>
    <${FromShell} words=${["trigger", "call.completed"]} />
  <//>`;
}

/** Where no path was found, the form asks for it. */
async function register(probe) {
  if (probe.finding === "not_http") return;
  if (!isFound(probe)) return navigate(`/endpoints?new&url=${encodeURIComponent(probe.url)}`);
  const endpoint = await attempt(() => control.post("/endpoints", { url: probe.url }));
  if (endpoint !== undefined) tellSecret(endpoint, { isTested: true });
}

function FromShell({ words }) {
  return html`<div class="from-shell small">
    <p>Or from the shell:</p>
    <${Copyable} text=${commandLine(words)} label="Copy the command" />
  </div>`;
}

/** Filters that nothing passes. */
export function NothingMatches({ onClear }) {
  return html`<${Empty} icon="search" title="Nothing matches">
    <p>No delivery passes these filters; payloads were searched, too.</p>
    <p><button type="button" class="button" onClick=${onClear}>Clear the filters</button></p>
  <//>`;
}
