import type { Agenda } from "./agenda.ts";
import { didYouMean } from "./suggest.ts";
import { type Scenario, SCENARIOS } from "./world/scenario.ts";
import type { World } from "./world/world.ts";

/** A story that has begun: its steps lie ahead in schedule time. */
export type Story = { scenario: Scenario; steps: number; endsAtMs: number };

export type StoryResult =
  | { ok: true; story: Story }
  | { ok: false; reason: "unknown" | "impossible"; message: string };

/** The scenarios that this simulator knows, and what sets one off. */
export function createStories(options: {
  world: World;
  agenda: Agenda;
  now: () => number;
  transaction: <Result>(action: () => Result) => Result;
  /** Called when the steps of a story have been set. */
  onTold: () => void;
  /** Scenarios of the user; one with the name of ours takes its place. */
  scenarios: readonly Scenario[];
}) {
  const { world, agenda, now, transaction, onTold } = options;
  const known = new Map<string, Scenario>();
  for (const scenario of [...SCENARIOS, ...options.scenarios]) known.set(scenario.name, scenario);

  return {
    list: (): Scenario[] => [...known.values()],
    /** Adds a scenario, in the place of one with its name. */
    add: (scenario: Scenario): void => void known.set(scenario.name, scenario),
    /** Begins a story: its steps happen in schedule time, the first of them at once. */
    tell(name: string): StoryResult {
      const scenario = known.get(name);
      if (scenario === undefined) {
        const names = [...known.keys()];
        const message = `There is no scenario ${JSON.stringify(name)}.${didYouMean(name, names)} There are ${names.join(", ")}.`;
        return { ok: false, reason: "unknown", message };
      }
      const startMs = now();
      const told = transaction(() => {
        const story = world.tell(scenario);
        if (story.ok) for (const { afterMs, ...step } of story.steps) agenda.add(startMs + afterMs, step);
        return story;
      });
      if (!told.ok) return { ok: false, reason: "impossible", message: told.message };
      onTold();
      const endsAtMs = startMs + Math.max(0, ...told.steps.map(({ afterMs }) => afterMs));
      return { ok: true, story: { scenario, steps: told.steps.length, endsAtMs } };
    },
  };
}
