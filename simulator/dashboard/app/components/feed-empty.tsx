import { useState } from "preact/hooks";
import { control } from "../core/api.ts";
import { useLive } from "../core/live.ts";
import { useLater } from "../core/load.ts";
import { hrefTo, navigate } from "../core/route.ts";
import { commandLine } from "../core/snippets.ts";
import { attempt, useAttempt } from "../core/toasts.ts";
import type { Listener, Probe } from "../core/types.ts";
import { Button, Copyable } from "./button.tsx";
import { Empty } from "./page.tsx";
import { showSecret } from "./secret-once.tsx";

/** Nothing was sent yet: register an endpoint first, or trigger an event. */
export function EmptyFeed() {
  const { endpoints } = useLive();
  if (endpoints === undefined || endpoints.size === 0)
    return (
      <Empty icon="endpoints" title="No endpoint yet">
        <p>Events are sent to the address of your receiver: register it first.</p>
        <ReceiverOffers onFound={register} />
        <p>
          <Button kind="accent" href={hrefTo("/endpoints?new")} words="Register an endpoint" />
        </p>
        <FromShell words={["endpoints", "add", "http://localhost:3000/webhooks"]} />
      </Empty>
    );
  return (
    <Empty icon="trigger" title="No event yet">
      <p>Trigger a call, a voicemail or an order, and watch its delivery here.</p>
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
  if (endpoint !== undefined) showSecret(endpoint, { isTested: true });
}

function FromShell({ words }: { words: string[] }) {
  return (
    <div class="from-shell stack small">
      <p>Or from the shell:</p>
      <Copyable text={commandLine(words)} label="Copy the command" kind="well" />
    </div>
  );
}

/** No delivery matches the filters. */
export function NothingMatches({ onClear }: { onClear: () => void }) {
  return (
    <Empty icon="search" title="Nothing matches">
      <p>No delivery matches these filters. Payloads were searched, too.</p>
      <p>
        <Button onClick={onClear} words="Clear the filters" />
      </p>
    </Empty>
  );
}

const LOOK_AGAIN_MS = 2_500;

/**
 * The usual ports that are open on this machine, for a user who looks for a receiver. A port is probed for a webhook path
 * only when it is pressed. `onFound(probe)` gets the result.
 */
export function ReceiverOffers({ onFound }: { onFound: (probe: Probe) => unknown }) {
  // Looked at again and again, so that a receiver appears when it has started.
  const look = () => control.get("/listeners").catch(() => undefined);
  const listed = useLater("listeners", 0, look, () => LOOK_AGAIN_MS);
  const [busy, run] = useAttempt();
  const [probe, setProbe] = useState<Probe>();

  async function ask({ port }: Listener) {
    setProbe(undefined);
    const found = await run(String(port), () => control.post("/listeners/probe", { port }));
    if (found === undefined) return;
    setProbe(found);
    onFound(found);
  }

  if (listed === undefined) return null;
  const { data } = listed;
  const words =
    data.length === 0
      ? "No usual port of this machine is open yet: start your receiver, and its port appears here."
      : "Listening on this machine: press your receiver's port.";
  return (
    <section class="offers stack near small" aria-label="Listening on this machine">
      <p class="muted">{words}</p>
      {data.length > 0 && (
        <ul class="flex wraps">
          {data.map((listener) => (
            <li key={listener.port}>
              <Button
                icon="search"
                busy={busy === String(listener.port)}
                kind="small"
                disabled={busy !== undefined}
                title={`Look for the path at which ${listener.host}:${listener.port} takes webhooks`}
                onClick={() => ask(listener)}
              >
                :{listener.port}
              </Button>
            </li>
          ))}
        </ul>
      )}
      {probe && (
        <p class={`toned ${probe.finding === "refuses_unsigned" ? "ok" : "wait"}`} role="status">
          {probe.sentence}
        </p>
      )}
    </section>
  );
}

/** Whether a path that takes webhooks was found, right or not. */
export function isFound({ finding }: Probe): boolean {
  return ["refuses_unsigned", "takes_unsigned", "fails"].includes(finding);
}
