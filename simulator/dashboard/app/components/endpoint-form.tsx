import { useState } from "preact/hooks";
import { control } from "../core/api.ts";
import { organizationChoices, useLive } from "../core/live.ts";
import { useGot, useLater } from "../core/load.ts";
import { toast } from "../core/toasts.ts";
import type { CheckedUrl, Endpoint, EndpointWithSecret } from "../core/types.ts";
import { FormDialog } from "./dialog.tsx";
import { ReceiverOffers } from "./feed-empty.tsx";
import { Checkboxes, FaultPicker, SelectField, TextField } from "./field.tsx";

const CHECK_AFTER_MS = 120;
const CHECK_AGAIN_MS = 1_000;

type Props = { firstUrl?: string | undefined; onClose: () => void } & (
  | { endpoint?: undefined; onDone: (endpoint: EndpointWithSecret) => void }
  | { endpoint: Endpoint; onDone: () => void }
);

/** Registers an endpoint, at first for `firstUrl`, or changes the one that is given. */
export function EndpointForm({ firstUrl = "http://localhost:3000/webhooks", ...props }: Props) {
  const { endpoint, onClose } = props;
  useLive();
  const { value: types } = useGot("/event-types");
  const [url, setUrl] = useState(endpoint?.url ?? firstUrl);
  const [name, setName] = useState(endpoint?.name ?? "");
  const [eventTypes, setEventTypes] = useState<readonly string[]>(endpoint?.event_types ?? []);
  const [orgId, setOrgId] = useState(endpoint?.org_id ?? "");
  const [secret, setSecret] = useState("");
  const [faults, setFaults] = useState(endpoint?.faults ?? []);
  // The simulator checks the URL shortly after the last key, and again while nothing listens there or no answer comes.
  const checked = useLater<CheckedUrl>(
    url,
    CHECK_AFTER_MS,
    () => control.post("/endpoints/check", { url }).catch(() => undefined),
    (answer) => (answer === undefined || answer.is_listening === false ? CHECK_AGAIN_MS : undefined),
  );

  async function submit() {
    const settings = { url, name, event_types: eventTypes, org_id: orgId === "" ? null : orgId, faults };
    if (props.endpoint === undefined)
      return props.onDone(await control.post("/endpoints", { ...settings, secret: secret || undefined }));
    await control.patch(`/endpoints/${props.endpoint.id}`, settings);
    props.onDone();
    toast("ok", url === endpoint?.url ? "Saved." : "Saved. Waiting deliveries go to the new address.");
  }

  return (
    <FormDialog
      title={endpoint ? "Edit the endpoint" : "Register an endpoint"}
      action={endpoint ? "Save" : "Register"}
      disabled={checked?.ok === false}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        label="URL"
        value={url}
        onInput={setUrl}
        required
        autofocus
        problem={checked?.ok === false ? checked.message : undefined}
        hint={hintOf(checked)}
        className={checked?.ok ? (checked.is_listening === false ? "doubt" : "good") : ""}
      />
      <TextField label="Name" value={name} onInput={setName} placeholder="none: its URL" />
      <ReceiverOffers onFound={(probe) => setUrl(probe.url)} />
      <Checkboxes
        label="Event types"
        options={(types?.data ?? []).map(({ type, emitted_when: when }) => [type, type, when] as const)}
        chosen={eventTypes}
        onChange={setEventTypes}
        hint={selectionWords(eventTypes.length)}
      />
      <SelectField
        label="Organization"
        value={orgId}
        onChange={setOrgId}
        options={[["", "All organizations"], ...organizationChoices()]}
      />
      {endpoint === undefined && <OwnSecret label="Signing secret" value={secret} onInput={setSecret} />}
      <FaultPicker title="Faults on every delivery to it" chosen={faults} onChange={setFaults} />
    </FormDialog>
  );
}

/** The user's own secret, collapsed; without it, one is generated. */
function OwnSecret(own: { label: string; value: string; onInput: (secret: string) => void }) {
  return (
    <details>
      <summary>Use a secret of your own</summary>
      <TextField
        {...own}
        placeholder="generated"
        hint="For a receiver that has a secret already. No white space."
      />
    </details>
  );
}

function selectionWords(count: number): string {
  if (count === 0) return "None selected: every event is delivered, future types included.";
  return count === 1 ? "Only this type is delivered." : `Only these ${count} types are delivered.`;
}

function hintOf(checked: CheckedUrl | undefined): string {
  if (!checked?.ok) return "Checking…";
  if (checked.is_listening === false) return "Nothing listens there yet: start your receiver.";
  return checked.is_listening ? "Good: a server listens there." : "Good: events can be delivered here.";
}

const OVERLAPS: [seconds: string, words: string][] = [
  ["0", "No overlap: the old one stops signing"],
  ["3600", "One hour"],
  ["86400", "One day"],
  ["604800", "One week"],
];

type RotateProps = { endpoint: Endpoint; onDone: (done: EndpointWithSecret) => void; onClose: () => void };

/** Gives an endpoint a new secret; `onDone` gets the endpoint with it, the only time that it is shown. */
export function RotateSecret({ endpoint, onDone, onClose }: RotateProps) {
  const [overlap, setOverlap] = useState("86400");
  const [secret, setSecret] = useState("");
  async function submit() {
    const body = { overlap_seconds: Number(overlap), secret: secret || undefined };
    onDone(await control.post(`/endpoints/${endpoint.id}/rotate`, body));
  }
  return (
    <FormDialog title="Rotate the signing secret" action="Rotate" onSubmit={submit} onClose={onClose}>
      <p>
        <span class="foreign">{endpoint.url}</span> gets a new secret. During the overlap, deliveries carry
        two signatures, so a receiver may verify either; the open question <code>rotated_secret_signs</code>{" "}
        reduces them to one.
      </p>
      <SelectField
        label="Overlap with the old one"
        value={overlap}
        onChange={setOverlap}
        options={OVERLAPS}
        hint="In schedule time: advance the clock to end the overlap."
      />
      <OwnSecret label="New signing secret" value={secret} onInput={setSecret} />
    </FormDialog>
  );
}
