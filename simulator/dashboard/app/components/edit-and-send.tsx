import { useState } from "preact/hooks";
import { asError, control } from "../core/api.ts";
import { messageOf } from "../core/toasts.ts";
import type { Delivery } from "../core/types.ts";
import { FormDialog } from "./dialog.tsx";
import { Problem } from "./empty.tsx";
import { FaultPicker } from "./fault-picker.tsx";
import { TextArea } from "./field.tsx";

const ROWS = 16;

type EditAndSendProps = {
  delivery: Delivery;
  body: string;
  onSent: (delivery: { id: string }) => void;
  onClose: () => void;
};

/** The event of an attempt to be changed and sent to its endpoint alone, signed afresh, with six attempts of its own. */
export function EditAndSend({ delivery, body, onSent, onClose }: EditAndSendProps) {
  const [text, setText] = useState(() => pretty(body));
  const [isSameId, setSameId] = useState(false);
  const [faults, setFaults] = useState<string[]>([]);
  const [error, setError] = useState<Error>();
  const envelope = read(text);

  async function send() {
    if (!envelope.ok) return;
    try {
      const sent = await control.post("/replay", {
        envelopes: [envelope.value],
        new_ids: !isSameId,
        endpoint_id: delivery.endpoint_id,
        faults,
      });
      const [first] = sent.deliveries;
      if (first !== undefined) onSent(first);
    } catch (problem) {
      setError(asError(problem));
    }
  }

  return (
    <FormDialog
      title="Edit and send again"
      action="Send"
      icon="trigger"
      disabled={!envelope.ok}
      onSubmit={send}
      onClose={onClose}
      wide
    >
      {error && <Problem error={error} />}
      <TextArea
        label="The event"
        className="code-field"
        autofocus
        rows={ROWS}
        value={text}
        onInput={setText}
        problem={envelope.ok ? undefined : envelope.message}
        hint="Sent to this endpoint alone, whatever it has selected; signed with its secret when it goes out."
      />
      <label class="check">
        <input type="checkbox" checked={isSameId} onChange={() => setSameId(!isSameId)} />
        Keep its id: a duplicate, which has to be unchanged
      </label>
      <details>
        <summary>Faults{faults.length > 0 ? ` (${faults.length})` : ""}</summary>
        <FaultPicker chosen={faults} onChange={setFaults} />
      </details>
    </FormDialog>
  );
}

function read(text: string): { ok: true; value: unknown } | { ok: false; message: string } {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    return { ok: false, message: `This is not JSON: ${messageOf(error)}` };
  }
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
