import { useEffect, useState } from "preact/hooks";
import { control } from "../core/api.ts";
import { useLive } from "../core/live.ts";
import { attempt } from "../core/toasts.ts";
import type { Endpoint } from "../core/types.ts";
import { Button } from "./button.tsx";
import { OutcomeChip } from "./chips.tsx";
import { VerdictLine } from "./verdict-mark.tsx";

/** Sends a test event to an endpoint, as often as one likes, and shows what the receiver made of it. */
export function TestEvent({ endpoint, isSentAtOnce }: { endpoint: Endpoint; isSentAtOnce: boolean }) {
  const { feed } = useLive();
  const [id, setId] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const delivery = id === undefined ? undefined : feed.get(id);
  const last = delivery?.attempts.at(-1);
  const isUnderWay = isBusy || (id !== undefined && !last?.ended_at);

  /** What waits is tried again now, so that nothing of a first try is left behind. */
  async function send() {
    setBusy(true);
    if (delivery?.next_attempt_at)
      await attempt(() => control.post(`/deliveries/${encodeURIComponent(delivery.id)}/attempt`));
    else {
      const sent = await attempt(() => control.post(`/endpoints/${encodeURIComponent(endpoint.id)}/test`));
      if (sent !== undefined) setId(sent.deliveries[0]?.id);
    }
    setBusy(false);
  }
  useEffect(() => {
    if (isSentAtOnce) void send();
  }, []);

  return (
    <section class="test-event stack" aria-label="Test event">
      <header class="flex">
        <h3>Test event</h3>
        {last && <OutcomeChip attempt={last} />}
        <span class="spacer" />
        <Button icon="trigger" kind="small" disabled={isUnderWay} onClick={send}>
          {id === undefined ? "Send a test event" : "Send again"}
        </Button>
      </header>
      {delivery !== undefined && last?.ended_at ? (
        <VerdictLine delivery={delivery} />
      ) : (
        <p class="muted" role="status">
          {isUnderWay
            ? "On its way…"
            : "Once your receiver has the secret, this shows whether it takes what is signed with it."}
        </p>
      )}
      {last?.http_status === 401 && (
        <p class="muted">
          Most likely it does not know this secret yet: put the line into its <code>.env</code>, start it
          again, and press Send again.
        </p>
      )}
    </section>
  );
}
