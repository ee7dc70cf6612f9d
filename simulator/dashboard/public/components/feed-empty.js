import { html } from "../core/html.js";
import { useLive } from "../core/live.js";
import { hrefTo } from "../core/route.js";
import { Copyable } from "./copy-button.js";
import { Empty } from "./empty.js";
import { commandLine } from "../core/command.js";

/** Nothing was sent yet: what to do first depends on whether there is somebody to send to. */
export function EmptyFeed() {
  const { endpoints } = useLive();
  if (endpoints === undefined || endpoints.size === 0)
    return html`<${Empty} icon="endpoints" title="Nobody to deliver to yet">
      <p>Register the URL of your receiver; then trigger an event and watch it arrive here.</p>
      <p><a class="button accent" href=${hrefTo("/endpoints?new")}>Register an endpoint</a></p>
      <${FromShell} words=${["endpoints", "add", "http://localhost:3000/webhooks"]} />
    <//>`;
  return html`<${Empty} icon="trigger" title="Nothing has happened yet">
    <p>Let a call end, a caller leave a voicemail or an order come in, and watch its delivery here.</p>
    <p><a class="button accent" href=${hrefTo("/trigger")}>Trigger an event</a></p>
    <${FromShell} words=${["trigger", "call.completed"]} />
  <//>`;
}

function FromShell({ words }) {
  return html`<p class="small">
    Or from the shell: <${Copyable} text=${commandLine(words)} label="Copy the command" />
  </p>`;
}

/** Filters that nothing passes. */
export function NothingMatches({ onClear }) {
  return html`<${Empty} icon="search" title="Nothing matches">
    <p>No delivery passes these filters; payloads were searched, too.</p>
    <p><button type="button" class="button" onClick=${onClear}>Clear the filters</button></p>
  <//>`;
}
