import { control } from "../core/api.ts";
import { commandLine } from "../core/curl.ts";
import { useLive } from "../core/live.ts";
import { hrefTo, navigate } from "../core/route.ts";
import { attempt } from "../core/toasts.ts";
import type { Probe } from "../core/types.ts";
import { Button, Copyable } from "./button.tsx";
import { Empty } from "./page.tsx";
import { isFound, ReceiverOffers } from "./receiver-offers.tsx";
import { tellSecret } from "./secret-once.tsx";

/** Nothing was sent yet: what to do first depends on whether there is somebody to send to. */
export function EmptyFeed() {
  const { endpoints } = useLive();
  if (endpoints === undefined || endpoints.size === 0)
    return (
      <Empty icon="endpoints" title="Nobody to deliver to yet">
        <p>Press the port of your receiver: it is registered, and a first event sent to it.</p>
        <ReceiverOffers onFound={register} />
        <p>
          <Button kind="accent" href={hrefTo("/endpoints?new")} words="Register an endpoint" />
        </p>
        <FromShell words={["endpoints", "add", "http://localhost:3000/webhooks"]} />
      </Empty>
    );
  return (
    <Empty icon="trigger" title="Nothing has happened yet">
      <p>Let a call end, a caller leave a voicemail or an order come in, and watch its delivery here.</p>
      <p>
        <Button kind="accent" href={hrefTo("/trigger")} words="Trigger an event" />
      </p>
      <FromShell words={["trigger", "call.completed"]} />
    </Empty>
  );
}

/** Where no path was found, the form asks for it. */
async function register(probe: Probe): Promise<void> {
  if (probe.finding === "not_http") return;
  if (!isFound(probe)) return navigate(`/endpoints?new&url=${encodeURIComponent(probe.url)}`);
  const endpoint = await attempt(() => control.post("/endpoints", { url: probe.url }));
  if (endpoint !== undefined) tellSecret(endpoint, { isTested: true });
}

function FromShell({ words }: { words: string[] }) {
  return (
    <div class="from-shell stack small">
      <p>Or from the shell:</p>
      <Copyable text={commandLine(words)} label="Copy the command" />
    </div>
  );
}

/** Filters that nothing passes. */
export function NothingMatches({ onClear }: { onClear: () => void }) {
  return (
    <Empty icon="search" title="Nothing matches">
      <p>No delivery passes these filters; payloads were searched, too.</p>
      <p>
        <Button onClick={onClear} words="Clear the filters" />
      </p>
    </Empty>
  );
}
