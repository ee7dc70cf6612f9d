import { useState } from "preact/hooks";
import { control } from "../core/api.ts";
import { attempt } from "../core/toasts.ts";
import type { Endpoint, EndpointWithSecret } from "../core/types.ts";
import { FormDialog } from "./dialog.tsx";
import { SelectField, TextField } from "./field.tsx";

const OVERLAPS: [seconds: string, words: string][] = [
  ["0", "None: the old one signs no more"],
  ["3600", "One hour"],
  ["86400", "One day"],
  ["604800", "One week"],
];

type RotateSecretProps = {
  endpoint: Endpoint;
  onDone: (endpoint: EndpointWithSecret) => void;
  onClose: () => void;
};

/** Gives an endpoint a new secret; `onDone` gets the endpoint with it, the one time that it is told. */
export function RotateSecret({ endpoint, onDone, onClose }: RotateSecretProps) {
  const [overlap, setOverlap] = useState("86400");
  const [secret, setSecret] = useState("");
  async function submit() {
    const body = { overlap_seconds: Number(overlap), secret: secret || undefined };
    const path = `/endpoints/${encodeURIComponent(endpoint.id)}/rotate` as const;
    const rotated = await attempt(() => control.post(path, body));
    if (rotated !== undefined) onDone(rotated);
  }
  return (
    <FormDialog title="Rotate the signing secret" action="Rotate" onSubmit={submit} onClose={onClose}>
      <p>
        <span class="foreign">{endpoint.url}</span> gets a new secret. Meanwhile deliveries carry two
        signatures, so a receiver may take either; the open question <code>rotated_secret_signs</code> makes
        it one of them.
      </p>
      <SelectField
        label="The old one goes on signing for"
        value={overlap}
        onChange={setOverlap}
        options={OVERLAPS}
        hint="In schedule time: move the clock to see the overlap end."
      />
      <details>
        <summary>Use a secret of your own</summary>
        <TextField
          label="New signing secret"
          value={secret}
          onInput={setSecret}
          placeholder="made up for you"
        />
      </details>
    </FormDialog>
  );
}
