import type { Agenda } from "./agenda.ts";
import { didYouMean } from "./suggest.ts";
import { type Scenario, SCENARIOS } from "./world/scenario.ts";
import type { World } from "./world/world.ts";

/** How many scenarios there are at most, and how many steps of their stories lie ahead. */
const MOST_SCENARIOS = 100;
const MOST_STEPS_AHEAD = 100_000;

/** A story that has begun: its steps lie ahead in schedule time. */
export type Story = { scenario: Scenario; steps: number; endsAtMs: number };

export type StoryResult =
  | { ok: true; story: Story }
  | { ok: false; reason: "unknown" | "impossible"; message: string };

const TOO_MUCH_AHEAD = `More than ${MOST_STEPS_AHEAD.toLocaleString("en")} steps of stories would lie ahead: move the clock on, or reset.`;

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
    /** Adds a scenario, in the place of one with its name; false where there are as many as there may be. */
    add(scenario: Scenario): boolean {
      if (known.size >= MOST_SCENARIOS && !known.has(scenario.name)) return false;
      known.set(scenario.name, scenario);
      return true;
    },
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
        if (story.ok && agenda.count() + story.steps.length > MOST_STEPS_AHEAD)
          return { ok: false as const, message: TOO_MUCH_AHEAD };
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
