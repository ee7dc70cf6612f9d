import { useState } from "preact/hooks";
import { control } from "../core/api.js";
import { countOf, dayAndTimeOf } from "../core/format.js";
import { html } from "../core/html.js";
import { useLoaded } from "../core/load.js";
import { hrefTo } from "../core/route.js";
import { attempt, toast } from "../core/toasts.js";
import { Icon } from "./icon.js";
import { Panel } from "./page.js";

/** Stories of several events, as they happen in a business. */
export function ScenarioList() {
  const { value: scenarios, error } = useLoaded(
    "scenarios",
    async () => (await control.get("/scenarios")).data,
  );
  const [running, setRunning] = useState();
  if (error !== undefined || scenarios?.length === 0) return null;

  async function run(name) {
    setRunning(name);
    const started = await attempt(() => control.post(`/scenarios/${encodeURIComponent(name)}`));
    setRunning(undefined);
    if (started === undefined) return;
    const until = dayAndTimeOf(started.ends_at);
    toast("ok", `${name} has begun, and lasts until ${until} of schedule time.`, {
      href: hrefTo("/"),
      words: "Watch",
    });
  }
  return html`<${Panel} title="Scenarios">
    <p class="muted">Things that belong together, told in schedule time: step the clock to go on.</p>
    <ul class="scenarios">
      ${(scenarios ?? []).map(
        ({ name, summary, events }) =>
          html`<li key=${name}>
            <div>
              <b>${name}</b> <span class="muted">${countOf(events, "event")}</span>
              <p class="muted">${summary}</p>
            </div>
            <button
              type="button"
              class=${`button small ${running === name ? "busy" : ""}`}
              disabled=${running !== undefined}
              onClick=${() => run(name)}
              aria-label=${`Run ${name}`}
            >
              <${Icon} name="play" size=${13} />Run
            </button>
          </li>`,
      )}
    </ul>
  <//>`;
}
