import { dayAndTimeOf } from "../core/format.ts";
import { toldSecret } from "../core/told-secret.ts";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy-button.tsx";
import { Dialog } from "./dialog.tsx";
import { TestEvent } from "./test-event.tsx";

/** The secret of a new endpoint, the one time that it is shown, and a first event that shows whether it is known. */
export function SecretOnce() {
  const told = toldSecret.use();
  if (told === undefined) return null;
  const { secret, url, previous_secret_until: until } = told.endpoint;
  const line = `SIGNING_SECRET=${secret}`;
  return (
    <Dialog title="The signing secret">
      <div class="dialog-body form stack">
        <div class="notice wait">
          <p>
            <b>Copy it now.</b> It is shown this once: from then on only its last four characters are.
          </p>
        </div>
        <div class="secret-row well flex between">
          <code class="foreign secret">{secret}</code>
          <CopyButton text={secret} label="Copy secret" />
        </div>
        <p>
          For the <code>.env</code> file of your receiver:
        </p>
        <div class="secret-row well flex between">
          <code class="foreign">{line}</code>
          <CopyButton text={line} label="Copy line" />
        </div>
        {until !== null && (
          <p>
            Until {dayAndTimeOf(until)} of schedule time the old one counts, too: a receiver that takes
            several has the new one first, a comma, and the old one.
          </p>
        )}
        <p class="muted">
          Deliveries to <span class="foreign">{url}</span> carry a signature made with it in the header{" "}
          <code>X-Service-Signature</code>.
        </p>
        <TestEvent key={told.endpoint.id} endpoint={told.endpoint} isSentAtOnce={told.isTested} />
      </div>
      <footer class="dialog-foot flex">
        <Button kind="accent" onClick={() => toldSecret.set(undefined)}>
          I have copied it
        </Button>
      </footer>
    </Dialog>
  );
}
