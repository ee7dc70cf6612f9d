import { useState } from "preact/hooks";
import { control } from "../core/api.ts";
import { attempt, toast } from "../core/toasts.ts";
import { Confirm } from "./dialog.tsx";

/** Forgets every event and delivery, after asking. */
export function ResetBox() {
  const [isAsking, setAsking] = useState(false);
  async function reset() {
    setAsking(false);
    await attempt(async () => {
      await control.post("/reset", { keep_endpoints: true });
      toast("ok", "Everything that was sent is forgotten; the endpoints are still here.");
    });
  }
  return (
    <>
      <p class="muted">
        Forget all events and deliveries, and bring the world back to its beginning. Endpoints stay.
      </p>
      <button type="button" class="button danger-words" onClick={() => setAsking(true)}>
        Reset…
      </button>
      {isAsking && (
        <Confirm
          title="Forget everything that was sent?"
          action="Reset"
          onConfirm={reset}
          onClose={() => setAsking(false)}
        >
          <p>
            All events and deliveries are deleted, and the world is as it was at the start. Endpoints and
            their secrets stay.
          </p>
        </Confirm>
      )}
    </>
  );
}
