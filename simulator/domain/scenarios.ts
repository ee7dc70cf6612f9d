import type { Database } from "better-sqlite3";
import { z } from "zod";
import { EVENT_TYPES } from "../../shared/events.ts";
import type { Happening } from "./emitter.ts";
import { type Refused, refused, didYouMean } from "./refused.ts";
import { LANGUAGES } from "./world/phrases/phrases.ts";
import { type Scenario, SCENARIOS } from "./world/scenario.ts";
import type { World } from "./world/world.ts";

export type BegunScenario = { scenario: Scenario; steps: number; endsAtMs: number };

const callerSchema = z.object({
  phone: z.string().exactOptional(),
  name: z.string().exactOptional(),
  language: z.enum(LANGUAGES).exactOptional(),
});

const stepSchema = z.object({
  type: z.enum(EVENT_TYPES),
  orgId: z.string().exactOptional(),
  object: z.record(z.string(), z.unknown()).exactOptional(),
  caller: callerSchema.exactOptional(),
});

const INSERT = `INSERT INTO steps (due_at, step) VALUES (?, ?)`;
const NEXT_DUE = `SELECT min(due_at) FROM steps`;
const TAKE_DUE = `DELETE FROM steps WHERE seq = (SELECT seq FROM steps WHERE due_at <= ? ORDER BY due_at, seq LIMIT 1) RETURNING step`;

/** The scenarios of this simulator, and the due steps of those that have begun. */
export function createScenarios(options: {
  database: Database;
  world: World;
  now: () => number;
  transaction: <Result>(action: () => Result) => Result;
  perform: (step: Happening) => void;
  onBegun: () => void;
  /** Scenarios of the user; one with the name of a built-in one replaces it. */
  scenarios: readonly Scenario[];
}) {
  const { database, world, now, transaction, perform, onBegun } = options;
  const insert = database.prepare(INSERT);
  const nextDue = database.prepare<[], number | null>(NEXT_DUE).pluck();
  const takeDue = database.prepare<[number], string>(TAKE_DUE).pluck();
  const known = new Map<string, Scenario>();
  for (const scenario of [...SCENARIOS, ...options.scenarios]) known.set(scenario.name, scenario);

  // Taken and performed in one transaction: a kill in between loses no step and repeats none.
  const performNext = database.transaction((nowMs: number): void => {
    const step = takeDue.get(nowMs);
    if (step !== undefined) perform(stepSchema.parse(JSON.parse(step)));
  });

  function nextDueMs(): number | undefined {
    return nextDue.get() ?? undefined;
  }

  return {
    list: (): Scenario[] => [...known.values()],
    /** Adds a scenario or replaces the one with its name; refused if it cannot happen here. */
    add(scenario: Scenario): { ok: true } | Refused {
      const planned = world.planSteps(scenario);
      if (!planned.ok) return planned;
      known.set(scenario.name, scenario);
      return { ok: true };
    },
    /** Begins a scenario: its steps happen in schedule time, the first one at once. */
    begin(name: string): { ok: true; begun: BegunScenario } | Refused {
      const scenario = known.get(name);
      if (scenario === undefined) {
        const names = [...known.keys()];
        return refused(
          `Unknown scenario ${JSON.stringify(name)}.${didYouMean(name, names)} The scenarios are ${names.join(", ")}; an event type has a period, as order.created.`,
          "not_found",
        );
      }
      const startMs = now();
      const planned = transaction(() => {
        const plan = world.planSteps(scenario);
        if (plan.ok)
          for (const { afterMs, ...step } of plan.steps) insert.run(startMs + afterMs, JSON.stringify(step));
        return plan;
      });
      if (!planned.ok) return planned;
      onBegun();
      const endsAtMs = startMs + Math.max(0, ...planned.steps.map(({ afterMs }) => afterMs));
      return { ok: true, begun: { scenario, steps: planned.steps.length, endsAtMs } };
    },
    nextDueMs,
    run(nowMs: number): void {
      while ((nextDueMs() ?? Number.POSITIVE_INFINITY) <= nowMs) performNext(nowMs);
    },
  };
}
