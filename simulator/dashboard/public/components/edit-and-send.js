import { useState } from "preact/hooks";
import { control } from "../core/api.js";
import { html } from "../core/html.js";
import { Dialog } from "./dialog.js";
import { Problem } from "./empty.js";
import { FaultPicker } from "./fault-picker.js";
import { TextArea } from "./field.js";
import { Icon } from "./icon.js";

const ROWS = 16;

/** The event of an attempt to be changed and sent to its endpoint alone, signed afresh, with six attempts of its own. */
export function EditAndSend({ delivery, body, onSent, onClose }) {
  const [text, setText] = useState(() => pretty(body));
  const [isSameId, setSameId] = useState(false);
  const [faults, setFaults] = useState([]);
  const [error, setError] = useState();
  const envelope = read(text);

  async function send(event) {
    event.preventDefault();
    try {
      const sent = await control.post("/replay", {
        envelopes: [envelope.value],
        new_ids: !isSameId,
        endpoint_id: delivery.endpoint_id,
        faults,
      });
      onSent(sent.deliveries[0]);
    } catch (problem) {
      setError(problem);
    }
  }

  return html`<${Dialog} title="Edit and send again" onClose=${onClose} wide>
    <form onSubmit=${send}>
      <div class="dialog-body form">
        ${error && html`<${Problem} error=${error} />`}
        <${TextArea}
          label="The event"
          className="code-field"
          rows=${ROWS}
          value=${text}
          onInput=${setText}
          problem=${envelope.ok ? undefined : envelope.message}
          hint="Sent to this endpoint alone, whatever it has selected; signed with its secret when it goes out."
        />
        <label class="check"
          ><input type="checkbox" checked=${isSameId} onChange=${() => setSameId(!isSameId)} />Keep its id: a
          duplicate, which has to be unchanged</label
        >
        <details>
          <summary>Faults${faults.length > 0 ? ` (${faults.length})` : ""}</summary>
          <${FaultPicker} chosen=${faults} onChange=${setFaults} />
        </details>
      </div>
      <footer>
        <button type="button" class="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class="button accent" disabled=${!envelope.ok}>
          <${Icon} name="trigger" size=${15} />Send
        </button>
      </footer>
    </form>
  <//>`;
}

function read(text) {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    return { ok: false, message: `This is not JSON: ${error.message}` };
  }
}

function pretty(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
