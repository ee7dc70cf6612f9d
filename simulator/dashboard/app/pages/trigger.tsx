import { useState } from "preact/hooks";
import { useGot } from "../core/load.ts";
import { navigate } from "../core/route.ts";
import { TypeMark } from "../components/chips.tsx";
import { EventForm } from "../components/event-form.tsx";
import { ScenarioList, StartAfresh, TrafficSwitch } from "../components/happenings.tsx";
import { Loaded, PageHead } from "../components/page.tsx";

/** Lets things happen: an event, a scenario, or the traffic of a whole business. */
export function TriggerPage({ query }: { query: URLSearchParams }) {
  const [chosen, setChosen] = useState(query.get("type") ?? "call.completed");
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
      <Loaded from={useGot("/event-types")}>
        {({ data: types }) => {
          const type = types.find((known) => known.type === chosen) ?? types[0];
          return (
            <div class="split columns">
              <div>
                <div class="type-tabs" role="group" aria-label="Event type">
                  {types.map(({ type: name, emitted_when: when }) => (
                    <button
                      key={name}
                      type="button"
                      class="edge flex"
                      aria-pressed={name === type?.type}
                      title={when}
                      onClick={() => choose(name)}
                    >
                      <TypeMark type={name} />
                      <b>
                        {name.split(".")[0]}.<wbr />
                        {name.split(".")[1]}
                      </b>
                    </button>
                  ))}
                </div>
                {type && <EventForm key={type.type} type={type} />}
              </div>
              <aside class="split-side" aria-label="Scenarios, traffic and reset">
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
