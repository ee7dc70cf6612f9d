import type { Agenda } from "./agenda.ts";
import { didYouMean } from "./suggest.ts";
import { type Refused, refused } from "./refused.ts";
import { type Scenario, SCENARIOS } from "./world/scenario.ts";
import type { World } from "./world/world.ts";

/** Maximum number of scenarios, and of steps that wait for their time. */
const MOST_SCENARIOS = 100;
const MOST_STEPS_AHEAD = 100_000;

/** A story that has begun: its steps lie ahead in schedule time. */
export type Story = { scenario: Scenario; steps: number; endsAtMs: number };

export type StoryResult = { ok: true; story: Story } | Refused;

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
    /** Adds a scenario, in the place of one with its name; refused where there are as many as there may be. */
    add(scenario: Scenario): { ok: true } | Refused {
      if (known.size >= MOST_SCENARIOS && !known.has(scenario.name))
        return refused(
          `There are as many scenarios as there may be, ${known.size}: give it the name of one that it is to replace.`,
        );
      known.set(scenario.name, scenario);
      return { ok: true };
    },
    /** Begins a story: its steps happen in schedule time, the first of them at once. */
    tell(name: string): StoryResult {
      const scenario = known.get(name);
      if (scenario === undefined) {
        const names = [...known.keys()];
        return refused(
          `There is no scenario ${JSON.stringify(name)}.${didYouMean(name, names)} There are ${names.join(", ")}.`,
          "not_found",
        );
      }
      const startMs = now();
      const told = transaction(() => {
        const story = world.tell(scenario);
        if (story.ok && agenda.count() + story.steps.length > MOST_STEPS_AHEAD)
          return refused(TOO_MUCH_AHEAD);
        if (story.ok) for (const { afterMs, ...step } of story.steps) agenda.add(startMs + afterMs, step);
        return story;
      });
      if (!told.ok) return told;
      onTold();
      const endsAtMs = startMs + Math.max(0, ...told.steps.map(({ afterMs }) => afterMs));
      return { ok: true, story: { scenario, steps: told.steps.length, endsAtMs } };
    },
  };
}
