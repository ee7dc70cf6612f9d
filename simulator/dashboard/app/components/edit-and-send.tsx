import { useState } from "preact/hooks";
import { control } from "../core/api.ts";
import type { AttemptDetail, Delivery } from "../core/types.ts";
import { parsed, prettyJson } from "./code-view.tsx";
import { FormDialog } from "./dialog.tsx";
import { CheckBox, FaultPicker, TextField } from "./field.tsx";

const ROWS = 16;

type EditProps = { delivery: Delivery; attempt: AttemptDetail } & {
  onSent: (id: string) => void;
  onClose: () => void;
};

/** Edits the event of an attempt and sends it only to the same endpoint, newly signed, with six attempts of its own. */
export function EditAndSend({ delivery, attempt, onSent, onClose }: EditProps) {
  const { body } = attempt.request;
  const [text, setText] = useState(() => prettyJson(body) ?? body);
  const [isSameId, setSameId] = useState(false);
  const [faults, setFaults] = useState<string[]>([]);
  const envelope = parsed(text);

  async function send() {
    if (!envelope.ok) return;
    const sent = await control.post("/replay", {
      envelopes: [envelope.value],
      new_ids: !isSameId,
      endpoint_id: delivery.endpoint_id,
      faults,
    });
    const [first] = sent.deliveries;
    if (first !== undefined) onSent(first.id);
  }

  return (
    <FormDialog
      title="Edit and send again"
      action="Send"
      icon="trigger"
      disabled={!envelope.ok}
      onSubmit={send}
      onClose={onClose}
    >
      <TextField
        label="The event"
        autofocus
        rows={ROWS}
        value={text}
        onInput={setText}
        problem={envelope.ok ? undefined : envelope.message}
        hint="Sent only to this endpoint, even if it has not selected the type; signed when it is sent."
      />
      <CheckBox checked={isSameId} onChange={() => setSameId(!isSameId)}>
        Keep its id: a duplicate, with an unchanged event
      </CheckBox>
      <FaultPicker chosen={faults} onChange={setFaults} />
    </FormDialog>
  );
}
