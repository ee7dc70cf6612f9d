import { useState } from "preact/hooks";
import { control } from "../core/api.ts";
import { endpointChoices, useLive } from "../core/live.ts";
import { navigate } from "../core/route.ts";
import { attempt } from "../core/toasts.ts";
import type { Verification } from "../core/types.ts";
import { placeOf } from "../core/words.ts";
import { Button } from "./button.tsx";
import { Select } from "./field.tsx";

/** Begins a run of `verify` on the receiver of an endpoint, of all checks or `only` some, and goes to where it can be watched. */
export async function verifyEndpoint(id: string, only?: string[]): Promise<void> {
  const path = `/endpoints/${encodeURIComponent(id)}/verify` as const;
  const begun = await attempt(() => control.post(path, { only }));
  if (begun !== undefined) navigate("/verify");
}

/** Chooses whom to verify; while a run is under way, ends it. */
export function VerifyStart() {
  const { endpoints, verification } = useLive();
  const [chosen, setChosen] = useState<string>();
  const all = [...(endpoints?.values() ?? [])];
  const endpoint = all.find(({ id }) => id === (chosen ?? verification?.endpoint_id)) ?? all[0];
  if (verification?.state === "running")
    return (
      <Button
        icon="cross"
        onClick={() => attempt(() => control.post("/verification/cancel"))}
        words="Cancel"
      />
    );
  if (endpoint === undefined) return null;
  return (
    <>
      {all.length > 1 && (
        <label class="inline-field flex muted">
          <span>Endpoint</span>{" "}
          <Select value={endpoint.id} options={endpointChoices()} onChange={setChosen} />
        </label>
      )}
      <Button
        icon="verify"
        kind="accent"
        title="Sends it some hundred deliveries: honest, forged, broken and repeated ones"
        onClick={() => verifyEndpoint(endpoint.id)}
      >
        Verify {all.length > 1 ? "" : placeOf(endpoint.url)}
      </Button>
    </>
  );
}

/** How far a run is. */
export function VerifyProgress({ verification }: { verification: Verification }) {
  const { url, done, total } = verification;
  return (
    <div class="report-verdict box flex wraps">
      <p>
        <b>Checking</b> <span class="foreign">{placeOf(url)}</span>
      </p>
      <progress max={Math.max(total, 1)} value={done} aria-label="Checks done" />
      <p class="progress-words muted">{total === 0 ? "Starting…" : `${done} of ${total}`}</p>
    </div>
  );
}
