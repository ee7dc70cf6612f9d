import { useState } from "preact/hooks";
import { TypeMark } from "../components/chips.js";
import { EventForm } from "../components/event-form.js";
import { Loading, Problem } from "../components/empty.js";
import { PageHead, Panel } from "../components/page.js";
import { ResetBox } from "../components/reset-box.js";
import { ScenarioList } from "../components/scenario-list.js";
import { TrafficSwitch } from "../components/traffic-switch.js";
import { control } from "../core/api.js";
import { html } from "../core/html.js";
import { useLoaded } from "../core/load.js";
import { navigate } from "../core/route.js";

/** Lets things happen: an event, a scenario, or the traffic of a whole business. */
export function TriggerPage({ query }) {
  const { value: types, error } = useLoaded(
    "event-types",
    async () => (await control.get("/event-types")).data,
  );
  const [chosen, setChosen] = useState(query.get("type") ?? "call.completed");
  const type = types?.find((known) => known.type === chosen) ?? types?.[0];

  function choose(next) {
    setChosen(next);
    navigate(`/trigger?type=${next}`, { replace: true });
  }
  return html`<${PageHead}
      title="Trigger"
      lead="Let something happen. The world changes first, then the event goes out."
    />
    ${error && html`<${Problem} error=${error} />`}
    ${types === undefined && error === undefined && html`<${Loading} />`}
    ${
      type &&
      html`<div class="split">
        <div class="split-main">
          <div class="type-tabs" role="group" aria-label="Event type">
            ${types.map(
              (known) =>
                html`<button
                  key=${known.type}
                  type="button"
                  aria-pressed=${String(known.type === type.type)}
                  title=${known.emitted_when}
                  onClick=${() => choose(known.type)}
                >
                  <${TypeMark} type=${known.type} /><b
                    >${known.type.split(".")[0]}.<wbr />${known.type.split(".")[1]}</b
                  >
                </button>`,
            )}
          </div>
          <${EventForm} key=${type.type} type=${type} />
        </div>
        <aside class="split-side" aria-label="Scenarios, traffic and reset">
          <${TrafficSwitch} />
          <${ScenarioList} />
          <${Panel} title="Start afresh"><${ResetBox} /><//>
        </aside>
      </div>`
    }`;
}
