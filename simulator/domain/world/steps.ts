import { z } from "zod";
import type { EventType } from "../../../shared/events.ts";
import { createRandom } from "../random.ts";
import { EVENT_KINDS } from "./event-types.ts";
import { type Caller, callerOf, pickCaller } from "./callers.ts";
import type { HappenOptions } from "./happenings.ts";
import { type Business, chooseBusiness, USUAL_LANGUAGE } from "./organizations.ts";
import { PLACEHOLDER, type Scenario, type ScenarioStep } from "./scenario.ts";
import { type Refused, refused } from "../refused.ts";

/** What is to happen `afterMs` of schedule time after the scenario begins; plain data, fit to be stored. */
export type PlannedStep = HappenOptions & { afterMs: number; type: EventType; orgId: string };

export type PlannedSteps = { ok: true; steps: PlannedStep[] } | Refused;

/** The steps of one run of a scenario by time. A caller who appears twice is the same person; `number` makes runs differ. */
export function planSteps(options: {
  scenario: Scenario;
  businesses: readonly Business[];
  seed: number;
  number: number;
}): PlannedSteps {
  const { scenario, businesses, seed, number } = options;
  const random = createRandom(seed, "scenario", scenario.name, number);
  const cast = new Map<string, Caller>();
  const steps: PlannedStep[] = [];

  for (const [index, step] of scenario.steps.entries()) {
    const chosen = chooseBusiness(businesses, {
      type: step.type,
      trade: EVENT_KINDS[step.type].trade,
      orgId: orgIdOf(businesses, step),
    });
    if (!chosen.ok) return refused(`steps[${index}]: ${chosen.message}`);
    const { business } = chosen;
    const caller = step.caller === undefined ? undefined : callerNamed(step.caller, business);
    for (let time = 0; time < step.times; time += 1) {
      steps.push({
        afterMs: (step.after_seconds + time * step.every_seconds) * 1000,
        type: step.type,
        orgId: business.organization.id,
        caller,
        object: step.object && fieldsSchema.parse(fill(step.object, business)),
      });
    }
  }
  return { ok: true, steps: steps.toSorted((left, right) => left.afterMs - right.afterMs) };

  /** The caller of that name: chosen where they first appear, the same from then on. */
  function callerNamed(name: string, business: Business): Caller {
    const met = cast.get(name);
    if (met !== undefined) return met;
    const given = scenario.callers[name] ?? {};
    const language = given.language ?? USUAL_LANGUAGE;
    const made =
      given.phone === undefined
        ? pickCaller({ seed, random, business, language })
        : callerOf({ seed, business, phone: given.phone });
    const caller = {
      ...made,
      language: given.language ?? made.language,
      name: given.name ?? made.name,
    };
    cast.set(name, caller);
    return caller;
  }

  function fill(value: unknown, business: Business): unknown {
    if (typeof value === "string") {
      return value.replaceAll(PLACEHOLDER, (_, name: string, field: string) => {
        const caller = callerNamed(name, business);
        return field === "name" ? caller.name : caller.phone;
      });
    }
    if (Array.isArray(value)) return value.map((inner) => fill(inner, business));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fill(inner, business)]));
  }
}

const fieldsSchema = z.record(z.string(), z.unknown());

function orgIdOf(businesses: readonly Business[], { organization }: ScenarioStep): string | undefined {
  return businesses.find(({ trade }) => trade === organization)?.organization.id ?? organization;
}
