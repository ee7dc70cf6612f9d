import { useState } from "preact/hooks";
import { control } from "../core/api.js";
import { countOf } from "../core/format.js";
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
    const count = started.events?.length ?? 0;
    toast("ok", count > 0 ? `${name}: ${countOf(count, "event")} went out.` : `${name} has begun.`, {
      href: hrefTo("/"),
      words: "Watch",
    });
  }
  return html`<${Panel} title="Scenarios">
    <p class="muted">Several things that belong together, in their order.</p>
    <ul class="scenarios">
      ${(scenarios ?? []).map(
        ({ name, title, description, summary }) =>
          html`<li key=${name}>
            <div>
              <b>${title ?? name}</b>
              <p class="muted">${description ?? summary ?? ""}</p>
            </div>
            <button
              type="button"
              class=${`button small ${running === name ? "busy" : ""}`}
              disabled=${running !== undefined}
              onClick=${() => run(name)}
              aria-label=${`Run ${title ?? name}`}
            >
              <${Icon} name="play" size=${13} />Run
            </button>
          </li>`,
      )}
    </ul>
  <//>`;
}
