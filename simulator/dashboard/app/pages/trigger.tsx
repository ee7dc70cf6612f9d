import { useState } from "preact/hooks";
import { control } from "../core/api.ts";
import { useLoaded } from "../core/load.ts";
import { navigate } from "../core/route.ts";
import { attempt, toast } from "../core/toasts.ts";
import { Button } from "../components/button.tsx";
import { TypeMark } from "../components/chips.tsx";
import { Confirm } from "../components/dialog.tsx";
import { Loading, Problem } from "../components/empty.tsx";
import { EventForm } from "../components/event-form.tsx";
import { PageHead, Panel } from "../components/page.tsx";
import { ScenarioList } from "../components/scenario-list.tsx";
import { TrafficSwitch } from "../components/traffic-switch.tsx";

/** Lets things happen: an event, a scenario, or the traffic of a whole business. */
export function TriggerPage({ query }: { query: URLSearchParams }) {
  const { value: types, error } = useLoaded(
    "event-types",
    async () => (await control.get("/event-types")).data,
  );
  const [chosen, setChosen] = useState(query.get("type") ?? "call.completed");
  const type = types?.find((known) => known.type === chosen) ?? types?.[0];

  function choose(next: string) {
    setChosen(next);
    navigate(`/trigger?type=${next}`, { replace: true });
  }
  return (
    <>
      <PageHead
        title="Trigger"
        lead="Let something happen. The world changes first, then the event goes out."
      />
      {error && <Problem error={error} />}
      {types === undefined && error === undefined && <Loading />}
      {types && type && (
        <div class="split">
          <div class="split-main">
            <div class="type-tabs" role="group" aria-label="Event type">
              {types.map((known) => (
                <button
                  key={known.type}
                  type="button"
                  class="edge flex"
                  aria-pressed={known.type === type.type}
                  title={known.emitted_when}
                  onClick={() => choose(known.type)}
                >
                  <TypeMark type={known.type} />
                  <b>
                    {known.type.split(".")[0]}.<wbr />
                    {known.type.split(".")[1]}
                  </b>
                </button>
              ))}
            </div>
            <EventForm key={type.type} type={type} />
          </div>
          <aside class="split-side" aria-label="Scenarios, traffic and reset">
            <TrafficSwitch />
            <ScenarioList />
            <Panel title="Start afresh">
              <ResetBox />
            </Panel>
          </aside>
        </div>
      )}
    </>
  );
}

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
      <Button kind="danger-words" onClick={() => setAsking(true)}>
        Reset…
      </Button>
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
