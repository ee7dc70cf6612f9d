import { useState } from "preact/hooks";
import { asError, control } from "../core/api.ts";
import { useLater } from "../core/later.ts";
import { organizationChoices, useLive } from "../core/live.ts";
import { useLoaded } from "../core/load.ts";
import { toast } from "../core/toasts.ts";
import type { CheckedUrl, Endpoint, EndpointWithSecret } from "../core/types.ts";
import { Button } from "./button.tsx";
import { FormDialog } from "./dialog.tsx";
import { Problem } from "./empty.tsx";
import { FaultPicker } from "./fault-picker.tsx";
import { Checkboxes, SelectField, TextField } from "./field.tsx";
import { Icon } from "./icon.tsx";
import { ReceiverOffers } from "./receiver-offers.tsx";

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
  const { value: types } = useLoaded("event-types", async () => (await control.get("/event-types")).data);
  const [url, setUrl] = useState(endpoint?.url ?? firstUrl);
  const [eventTypes, setEventTypes] = useState<readonly string[]>(endpoint?.event_types ?? []);
  const [orgId, setOrgId] = useState(endpoint?.org_id ?? "");
  const [secret, setSecret] = useState("");
  const [faults, setFaults] = useState(endpoint?.faults ?? []);
  const [error, setError] = useState<Error>();
  const checked = useCheckedUrl(url);
  const completed = completedUrl(url);

  async function submit() {
    const settings = { url, event_types: eventTypes, org_id: orgId === "" ? null : orgId, faults };
    try {
      if (props.endpoint === undefined)
        props.onDone(await control.post("/endpoints", { ...settings, secret: secret || undefined }));
      else {
        await control.patch(`/endpoints/${encodeURIComponent(props.endpoint.id)}`, settings);
        props.onDone();
        toast("ok", "Saved. Deliveries that wait go to the new address.");
      }
    } catch (problem) {
      setError(asError(problem));
    }
  }

  return (
    <FormDialog
      title={endpoint ? "Edit the endpoint" : "Register an endpoint"}
      action={endpoint ? "Save" : "Register"}
      disabled={checked?.ok === false}
      onSubmit={submit}
      onClose={onClose}
      wide
    >
      {error && <Problem error={error} />}
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
      {completed !== undefined && (
        <p>
          <Button kind="small" onClick={() => setUrl(completed)}>
            Use {completed}
          </Button>
        </p>
      )}
      <UrlRules url={url} />
      <ReceiverOffers onFound={(probe) => setUrl(probe.url)} />
      <Checkboxes
        label="Event types"
        options={(types ?? []).map(({ type, emitted_when: when }) => [type, type, when] as const)}
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
      {endpoint === undefined && (
        <details>
          <summary>Use a secret of your own</summary>
          <TextField
            label="Signing secret"
            value={secret}
            onInput={setSecret}
            placeholder="made up for you"
            hint="Handy where your receiver is configured already. No white space."
          />
        </details>
      )}
      <details open={faults.length > 0}>
        <summary>Faults on every delivery to it{faults.length > 0 ? ` (${faults.length})` : ""}</summary>
        <FaultPicker chosen={faults} onChange={setFaults} />
      </details>
    </FormDialog>
  );
}

function selectionWords(count: number): string {
  if (count === 0) return "None selected: every event is delivered, also of types that come later.";
  return count === 1 ? "Only this type is delivered." : `Only these ${count} types are delivered.`;
}

function hintOf(checked: CheckedUrl | undefined): string {
  if (!checked?.ok) return "Checking…";
  if (checked.is_listening === false)
    return "Nothing listens there yet: start your receiver, and this becomes good by itself.";
  return checked.is_listening ? "Good: somebody listens there." : "Good: events can be delivered here.";
}

/** What was meant by an address without its scheme: `localhost:3000/webhooks`. */
function completedUrl(text: string): string | undefined {
  if (!/^[\w.[\]:-]+(?:\/|$)/.test(text) || /^[a-z]+:(?!\d)/i.test(text)) return undefined;
  const isLocal = /^(?:localhost|127\.|\[::1\]|[\w-]+\.localhost)/.test(text);
  return URL.parse(`${isLocal ? "http" : "https"}://${text}`) === null
    ? undefined
    : `${isLocal ? "http" : "https"}://${text}`;
}

/** The rules as they apply to what is typed; the simulator has the last word. */
function UrlRules({ url }: { url: string }) {
  const parsed = URL.parse(url);
  const isLocal =
    parsed !== null && /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|.+\.localhost)$/.test(parsed.hostname);
  const rules: [holds: boolean, words: string][] = [
    [parsed !== null, "Written in full"],
    [
      parsed !== null && (parsed.protocol === "https:" || (parsed.protocol === "http:" && isLocal)),
      "https, or http on localhost",
    ],
    [parsed !== null && parsed.username === "" && parsed.password === "", "No user name or password"],
    [parsed !== null && !url.includes("#"), "No #fragment"],
  ];
  return (
    <ul class="rules flex wraps small" aria-label="Rules for the URL">
      {rules.map(([holds, words]) => (
        <li key={words} class={`inline ${holds ? "holds" : "bad"}`}>
          <Icon name={holds ? "check" : "cross"} size={13} />
          {words}
          <span class="visually-hidden">: {holds ? "yes" : "no"}</span>
        </li>
      ))}
    </ul>
  );
}

/** What the simulator says of the URL, shortly after one stopped typing, and again while nothing listens there. */
function useCheckedUrl(url: string): CheckedUrl | undefined {
  const [checked, setChecked] = useState<CheckedUrl>();
  useLater(
    url,
    CHECK_AFTER_MS,
    async () => control.post("/endpoints/check", { url }).catch(() => undefined),
    (result) => {
      if (result !== undefined) setChecked(result);
      return result?.is_listening === false ? CHECK_AGAIN_MS : undefined;
    },
  );
  return checked;
}
