import { useState } from "preact/hooks";
import { control } from "../core/api.ts";
import { useLater } from "../core/load.ts";
import { useAttempt } from "../core/toasts.ts";
import type { Listener, Listeners, Probe } from "../core/types.ts";
import { Button } from "./button.tsx";

const LOOK_AGAIN_MS = 2_500;
/** More than these are no help. */
const MOST_OFFERED = 8;

/**
 * Who listens on this machine, for whoever looks for the port of a receiver. Nobody is asked anything until one is pressed:
 * then it is looked for a path that takes webhooks, and `onFound(probe)` gets what was found.
 */
export function ReceiverOffers({ onFound }: { onFound: (probe: Probe) => unknown }) {
  const listed = useListeners();
  const [busy, run] = useAttempt();
  const [probe, setProbe] = useState<Probe>();

  async function look({ port }: Listener) {
    setProbe(undefined);
    const found = await run(String(port), () => control.post("/listeners/probe", { port }));
    if (found === undefined) return;
    setProbe(found);
    onFound(found);
  }

  if (listed === undefined) return null;
  const { data, message } = listed;
  const more = data.length - MOST_OFFERED;
  const words =
    data.length === 0
      ? "Nothing else listens on this machine yet: start your receiver, and its port appears here."
      : "Listening on this machine:";
  return (
    <section class="offers stack near small" aria-label="Listening on this machine">
      <p class="muted">{message ?? words}</p>
      {data.length > 0 && (
        <ul class="flex wraps">
          {data.slice(0, MOST_OFFERED).map((listener) => (
            <li key={listener.port}>
              <Button
                icon="search"
                busy={busy === String(listener.port)}
                kind="small"
                disabled={busy !== undefined}
                title={`Look for the path at which ${listener.host}:${listener.port} takes webhooks`}
                onClick={() => look(listener)}
              >
                {listener.host === "localhost" ? "" : listener.host}:{listener.port}{" "}
                {listener.program && <span class="muted foreign">{listener.program}</span>}
              </Button>
            </li>
          ))}
        </ul>
      )}
      {more > 0 && <p class="muted">… and {more} more.</p>}
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

/** Looked at again and again, so that a receiver appears when it has started. */
function useListeners(): Listeners | undefined {
  const [listed, setListed] = useState<Listeners>();
  useLater(
    "listeners",
    0,
    async () => control.get("/listeners").catch(() => undefined),
    (next) => {
      if (next !== undefined) setListed(next);
      return LOOK_AGAIN_MS;
    },
  );
  return listed;
}
