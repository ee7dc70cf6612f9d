import { html } from "../core/html.js";
import { useLive } from "../core/live.js";
import { hrefTo } from "../core/route.js";
import { Copyable } from "./copy-button.js";
import { Empty } from "./empty.js";

/** Nothing was sent yet: what to do first depends on whether there is somebody to send to. */
export function EmptyFeed() {
  const { endpoints } = useLive();
  if (endpoints === undefined || endpoints.size === 0)
    return html`<${Empty} icon="endpoints" title="Nobody to deliver to yet">
      <p>Register the URL of your receiver; then trigger an event and watch it arrive here.</p>
      <p><a class="button accent" href=${hrefTo("/endpoints?new")}>Register an endpoint</a></p>
      <p class="muted">
        Or from the shell:
        <${Copyable}
          text="voice-agent-simulator endpoints add http://localhost:3000/webhooks"
          label="Copy the command"
        />
      </p>
    <//>`;
  return html`<${Empty} icon="trigger" title="Nothing has happened yet">
    <p>Let a call end, a caller leave a voicemail or an order come in, and watch its delivery here.</p>
    <p><a class="button accent" href=${hrefTo("/trigger")}>Trigger an event</a></p>
    <p class="muted">
      Or from the shell:
      <${Copyable} text="voice-agent-simulator trigger call.completed" label="Copy the command" />
    </p>
  <//>`;
}

export function NothingMatches({ onClear }) {
  return html`<${Empty} icon="search" title="No delivery matches">
    <p>Nothing that was sent passes these filters.</p>
    <p><button type="button" class="button" onClick=${onClear}>Clear the filters</button></p>
  <//>`;
}
