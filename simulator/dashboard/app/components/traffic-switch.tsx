import { useState } from "preact/hooks";
import { control } from "../core/api.ts";
import { useLoaded } from "../core/load.ts";
import { attempt } from "../core/toasts.ts";
import { type Choice, Segments } from "./code-view.tsx";
import { Panel } from "./page.tsx";

const RATES: Choice[] = [
  ["0", "Off"],
  ["6", "6"],
  ["30", "30"],
  ["120", "120"],
  ["600", "600"],
];

/** Keeps the business alive: calls come in by themselves. */
export function TrafficSwitch() {
  const { value: traffic, setValue, error } = useLoaded("traffic", () => control.get("/traffic"));
  const [isBusy, setBusy] = useState(false);
  if (error?.status === 404) return null;

  async function set(rate: string) {
    setBusy(true);
    const changed = await attempt(() => control.patch("/traffic", { per_minute: Number(rate) }));
    setBusy(false);
    if (changed) setValue(changed);
  }
  const rate = String(traffic?.per_minute ?? 0);
  const rates: Choice[] = RATES.some(([known]) => known === rate) ? RATES : [...RATES, [rate, rate]];
  return (
    <Panel title="Traffic">
      <p class="muted">
        Let calls, orders and voicemails happen by themselves, as many a minute as you choose.
      </p>
      <Segments
        label="Happenings a minute"
        value={rate}
        options={rates}
        onChange={set}
        disabled={isBusy || traffic === undefined}
      />
    </Panel>
  );
}
