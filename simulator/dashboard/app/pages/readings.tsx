import { control } from "../core/api.ts";
import { useGot } from "../core/load.ts";
import { attempt, toast } from "../core/toasts.ts";
import type { Reading } from "../core/types.ts";
import { Button, Segments } from "../components/button.tsx";
import { Chip } from "../components/chips.tsx";
import { Loaded, Marked, PageHead } from "../components/page.tsx";

/** What the specification leaves open, each as a switch. */
export function ReadingsPage() {
  const loaded = useGot("/readings");
  const { value, reload } = loaded;
  const readings = value?.data ?? [];

  async function choose(changes: Record<string, string>) {
    await attempt(() => control.patch("/readings", changes));
    await reload();
  }
  async function useDefaults() {
    await choose(Object.fromEntries(readings.map((reading) => [reading.name, reading.default])));
    toast("ok", "All open questions have their defaults again.");
  }
  const changed = readings.filter((reading) => reading.choice !== reading.default).length;

  return (
    <>
      <PageHead
        title="Open questions"
        lead="What the specification leaves open, and how this simulator reads it (readings, in commands and options). A receiver that works under every choice depends on nothing unstated. * marks the default."
      >
        <Button
          disabled={changed === 0}
          onClick={useDefaults}
          words={`Defaults for all${changed > 0 ? ` (${changed} changed)` : ""}`}
        />
      </PageHead>
      <Loaded from={loaded}>
        {() => (
          <div class="box">
            {readings.map((one) => (
              <ReadingSwitch key={one.name} reading={one} choose={choose} />
            ))}
          </div>
        )}
      </Loaded>
    </>
  );
}

type Choose = (changes: Record<string, string>) => Promise<void>;

function ReadingSwitch({ reading, choose }: { reading: Reading; choose: Choose }) {
  const { name, choice, choices, section, summary, reason } = reading;
  const isChanged = choice !== reading.default;
  return (
    <section class="reading stack">
      <div>
        <h2 class="flex">
          <code>{name}</code>
          {isChanged && <Chip>changed</Chip>}
        </h2>
        <p>
          <Marked text={summary} />
        </p>
        <p class="muted">
          {section} leaves it open. <Marked text={reason} />
        </p>
      </div>
      <Segments
        label={name}
        value={choice}
        options={choices.map((one) => [one, one === reading.default ? `${one} *` : one])}
        onChange={(one) => choose({ [name]: one })}
      />
    </section>
  );
}
