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
        hint="Sent to this endpoint alone, whatever it has selected; signed with its secret when it goes out."
      />
      <CheckBox checked={isSameId} onChange={() => setSameId(!isSameId)}>
        Keep its id: a duplicate, which has to be unchanged
      </CheckBox>
      <FaultPicker chosen={faults} onChange={setFaults} />
    </FormDialog>
  );
}
