import { useEffect, useState } from "preact/hooks";
import { control } from "../core/api.ts";
import { useLive } from "../core/live.ts";
import { createStore, useAttempt } from "../core/toasts.ts";
import type { Endpoint, EndpointWithSecret } from "../core/types.ts";
import { dayAndTimeOf } from "../core/words.ts";
import { Button, CopyButton } from "./button.tsx";
import { OutcomeChip, VerdictLine } from "./chips.tsx";
import { Dialog } from "./dialog.tsx";

/** The secret of a new endpoint, shown only once, and a test event that shows whether the receiver has it. */
export function SecretOnce() {
  const shown = newSecret.use();
  if (shown === undefined) return null;
  const { secret, url, previous_secret_until: until } = shown.endpoint;
  const close = <Button kind="accent" onClick={() => newSecret.set(undefined)} words="I have copied it" />;
  return (
    <Dialog title="The signing secret" foot={close}>
      <p class="notice wait">
        <b>Copy it now.</b> It is shown only once; later, only its last four characters are shown.
      </p>
      <SecretRow text={secret} label="Copy secret" />
      <p>
        For the <code>.env</code> file of your receiver:
      </p>
      <SecretRow text={`SIGNING_SECRET=${secret}`} label="Copy line" />
      {until !== null && (
        <p>
          Until {dayAndTimeOf(until)} of schedule time the old one signs, too: give a receiver that takes
          several secrets both, with a comma between.
        </p>
      )}
      <p class="muted">
        Deliveries to <span class="foreign">{url}</span> carry a signature made with it in the header{" "}
        <code>X-Service-Signature</code>.
      </p>
      <TestEvent key={shown.endpoint.id} endpoint={shown.endpoint} isSentAtOnce={shown.isTested} />
    </Dialog>
  );
}

function SecretRow({ text, label }: { text: string; label: string }) {
  return (
    <div class="secret-row well flex between">
      <code class={`foreign ${label === "Copy secret" ? "secret" : ""}`}>{text}</code>
      <CopyButton text={text} label={label} />
    </div>
  );
}

/** Sends a test event to an endpoint, as often as one likes, and shows what the receiver made of it. */
function TestEvent({ endpoint, isSentAtOnce }: { endpoint: Endpoint; isSentAtOnce: boolean }) {
  const [id, setId] = useState<string>();
  const [busy, run] = useAttempt();
  const known = useLive().feed.get(id ?? "");
  const last = known?.attempts.at(-1);
  const isUnderWay = busy !== undefined || (id !== undefined && !last?.ended_at);

  /** A test event that waits for its retry is attempted now, instead of sending a second one. */
  async function send() {
    await run("send", async () => {
      if (known?.next_attempt_at) await control.post(`/deliveries/${known.id}/attempt`);
      else setId((await control.post(`/endpoints/${endpoint.id}/test`)).deliveries[0]?.id);
    });
  }
  useEffect(() => {
    if (isSentAtOnce) void send();
  }, []);

  return (
    <section class="test-event stack near" aria-label="Test event">
      <header class="flex">
        <h3>Test event</h3>
        {last && <OutcomeChip attempt={last} />}
        <span class="spacer" />
        <Button
          icon="trigger"
          kind="small"
          disabled={isUnderWay}
          onClick={send}
          words={id === undefined ? "Send a test event" : "Send again"}
        />
      </header>
      {known !== undefined && last?.ended_at ? (
        <VerdictLine delivery={known} />
      ) : (
        <p class="muted" role="status">
          {isUnderWay
            ? "On its way…"
            : "Once your receiver has the secret, this shows whether it accepts the signature."}
        </p>
      )}
      {last?.http_status === 401 && (
        <p class="muted">
          Most likely it does not have this secret yet: put the line into its <code>.env</code>, restart it,
          and press Send again.
        </p>
      )}
    </section>
  );
}

/**
 * The newly registered endpoint with its secret, shown on any page until the secret is copied: it is not shown
 * again. With `isTested`, an event is sent to it at once.
 */
export const newSecret = createStore<{ endpoint: EndpointWithSecret; isTested: boolean } | undefined>(
  undefined,
);

/** Shows the secret of `endpoint`. */
export function showSecret(endpoint: EndpointWithSecret, { isTested = false } = {}): void {
  newSecret.set({ endpoint, isTested });
}
