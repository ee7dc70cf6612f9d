import type { Verification } from "../core/types.ts";
import { useState } from "preact/hooks";
import { control } from "../core/api.ts";
import { useLive } from "../core/live.ts";
import { navigate } from "../core/route.ts";
import { attempt } from "../core/toasts.ts";
import { placeOf } from "../core/words.ts";
import { Icon } from "./icon.tsx";

/** Begins a run of `verify` on the receiver of an endpoint, and goes to where it can be watched. */
export async function verifyEndpoint(id: string): Promise<void> {
  const path = `/endpoints/${encodeURIComponent(id)}/verify` as const;
  const begun = await attempt(() => control.post(path));
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
      <button
        type="button"
        class="button"
        onClick={() => attempt(() => control.post("/verification/cancel"))}
      >
        <Icon name="cross" size={14} />
        Cancel
      </button>
    );
  if (endpoint === undefined) return null;
  return (
    <>
      {all.length > 1 && (
        <label class="inline-field">
          <span>Endpoint</span>{" "}
          <select value={endpoint.id} onChange={(event) => setChosen(event.currentTarget.value)}>
            {all.map(({ id, url }) => (
              <option key={id} value={id} selected={id === endpoint.id}>
                {placeOf(url)}
              </option>
            ))}
          </select>
        </label>
      )}
      <button
        type="button"
        class="button accent"
        title="Sends it some hundred deliveries: honest, forged, broken and repeated ones"
        onClick={() => verifyEndpoint(endpoint.id)}
      >
        <Icon name="verify" size={15} />
        Verify {all.length > 1 ? "" : placeOf(endpoint.url)}
      </button>
    </>
  );
}

/** How far a run is. */
export function VerifyProgress({ verification }: { verification: Verification }) {
  const { url, done, total } = verification;
  return (
    <div class="verify-progress">
      <p>
        <b>Checking</b> <span class="foreign">{placeOf(url)}</span>
      </p>
      <progress max={Math.max(total, 1)} value={done} aria-label="Checks done" />
      <p class="muted">{total === 0 ? "Starting…" : `${done} of ${total}`}</p>
    </div>
  );
}
