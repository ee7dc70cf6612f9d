import { useState } from "preact/hooks";
import { control } from "../core/api.ts";
import { useGot } from "../core/load.ts";
import { hrefTo, navigate } from "../core/route.ts";
import { attempt, toast, useAttempt } from "../core/toasts.ts";
import { countOf, dayAndTimeOf } from "../core/words.ts";
import { Button, type Choice, Segments } from "../components/button.tsx";
import { TypeName } from "../components/chips.tsx";
import { isMeant } from "../components/dialog.tsx";
import { EventForm } from "../components/event-form.tsx";
import { Loaded, PageHead, Panel } from "../components/page.tsx";

/** Triggers an event, a scenario, or traffic. */
export function TriggerPage({ query }: { query: URLSearchParams }) {
  const [chosen, setChosen] = useState(query.get("type") ?? "call.completed");
  function choose(next: string) {
    setChosen(next);
    navigate(`/trigger?type=${next}`, { replace: true });
  }
  return (
    <>
      <PageHead title="Trigger" lead="The simulated world changes first; then the event is sent." />
      <Loaded from={useGot("/event-types")}>
        {({ data: types }) => {
          const type = types.find((known) => known.type === chosen) ?? types[0];
          return (
            <div class="split stack hangs">
              <div class="stack">
                <Segments
                  className="type-tabs"
                  label="Event type"
                  value={type?.type ?? ""}
                  options={types.map((one) => [one.type, <TypeName type={one.type} />, one.emitted_when])}
                  onChange={choose}
                />
                {type && <EventForm key={type.type} type={type} />}
              </div>
              <aside class="stack" aria-label="Scenarios, traffic and reset">
                <TrafficSwitch />
                <ScenarioList />
                <StartAfresh />
              </aside>
            </div>
          );
        }}
      </Loaded>
    </>
  );
}

const RATES: Choice[] = ["0", "6", "30", "120", "600"].map((rate) => [rate, rate === "0" ? "Off" : rate]);

/** Traffic: calls that come in by themselves. */
export function TrafficSwitch() {
  const { value: traffic, loadBy, error } = useGot("/traffic");
  const [busy, run] = useAttempt();
  if (error?.status === 404) return null;

  async function set(rate: string) {
    const changed = await run(rate, () => control.patch("/traffic", { per_minute: Number(rate) }));
    if (changed) await loadBy(async () => changed);
  }
  const rate = String(traffic?.per_minute ?? 0);
  return (
    <Panel title="Traffic">
      <p class="muted">Calls, orders and voicemails that happen by themselves.</p>
      <Segments
        label="Calls a minute"
        value={rate}
        options={RATES.some(([known]) => known === rate) ? RATES : [...RATES, [rate, rate]]}
        onChange={set}
        disabled={busy !== undefined || traffic === undefined}
      />
    </Panel>
  );
}

/** Stories of several events, as they happen in a business. */
export function ScenarioList() {
  const { value: scenarios, error } = useGot("/scenarios");
  const [running, attemptTo] = useAttempt();
  if (error !== undefined || scenarios?.data.length === 0) return null;

  async function run(name: string) {
    const started = await attemptTo(name, () => control.post(`/scenarios/${encodeURIComponent(name)}`));
    if (started === undefined) return;
    const words = `${name} has begun, and lasts until ${dayAndTimeOf(started.ends_at)} of schedule time.`;
    toast("ok", words, { href: hrefTo("/"), words: "Watch" });
  }
  return (
    <Panel title="Scenarios">
      <p class="muted">Stories of several events in schedule time: step the clock to continue.</p>
      <ul class="scenarios stack">
        {scenarios?.data.map(({ name, summary, events }) => (
          <li class="flex hangs between" key={name}>
            <div>
              <b>{name}</b> <span class="muted">{countOf(events, "event")}</span>
              <p class="muted">{summary}</p>
            </div>{" "}
            <Button
              icon="play"
              busy={running === name}
              kind="small"
              disabled={running !== undefined}
              onClick={() => run(name)}
              aria-label={`Run ${name}`}
              words="Run"
            />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Deletes every event and delivery, after asking. */
export function StartAfresh() {
  async function reset() {
    const text = "Deletes all events and deliveries, and resets the world. Endpoints and their secrets stay.";
    if (!(await isMeant({ title: "Delete all events and deliveries?", action: "Reset", text }))) return;
    const done = await attempt(async () => [await control.post("/reset", { keep_endpoints: true })]);
    if (done) toast("ok", "All events and deliveries were deleted; the endpoints stay.");
  }
  return (
    <Panel title="Start afresh">
      <p class="muted">Delete all events and deliveries, and reset the world.</p>
      <Button kind="danger-words" onClick={reset} words="Reset…" />
    </Panel>
  );
}
