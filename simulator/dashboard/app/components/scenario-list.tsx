import { useState } from "preact/hooks";
import { control } from "../core/api.ts";
import { countOf, dayAndTimeOf } from "../core/format.ts";
import { useLoaded } from "../core/load.ts";
import { hrefTo } from "../core/route.ts";
import { attempt, toast } from "../core/toasts.ts";
import { Button } from "./button.tsx";
import { Panel } from "./page.tsx";

/** Stories of several events, as they happen in a business. */
export function ScenarioList() {
  const { value: scenarios, error } = useLoaded(
    "scenarios",
    async () => (await control.get("/scenarios")).data,
  );
  const [running, setRunning] = useState<string>();
  if (error !== undefined || scenarios?.length === 0) return null;

  async function run(name: string) {
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
  return (
    <Panel title="Scenarios">
      <p class="muted">Things that belong together, told in schedule time: step the clock to go on.</p>
      <ul class="scenarios stack">
        {(scenarios ?? []).map(({ name, summary, events }) => (
          <li class="flex between" key={name}>
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
            >
              Run
            </Button>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
