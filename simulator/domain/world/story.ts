import { z } from "zod";
import type { EventType } from "../../../shared/events.ts";
import { createRandom } from "../random.ts";
import { type Caller, callerOf, pickCaller } from "./callers.ts";
import type { HappenOptions } from "./happenings.ts";
import { chooseBusiness } from "./choose-business.ts";
import { type Business, USUAL_LANGUAGE } from "./organizations.ts";
import { PLACEHOLDER, type Scenario, type ScenarioStep } from "./scenario.ts";
import { type Refused, refused } from "../refused.ts";

/** Something that is to happen `afterMs` of schedule time after the story begins; plain data, fit to be stored. */
export type StoryStep = HappenOptions & { afterMs: number; type: EventType; orgId: string };

export type StoryPlan = { ok: true; steps: StoryStep[] } | Refused;

/**
 * The steps of one telling of a scenario in the order of their times. Who calls is settled here, so that a caller who
 * appears twice is the same person. `storyNumber` makes two tellings differ.
 */
export function tellStory(options: {
  scenario: Scenario;
  businesses: readonly Business[];
  seed: number;
  storyNumber: number;
}): StoryPlan {
  const { scenario, businesses, seed, storyNumber } = options;
  const random = createRandom(seed, "story", scenario.name, storyNumber);
  const cast = new Map<string, Caller>();
  const steps: StoryStep[] = [];

  for (const [index, step] of scenario.steps.entries()) {
    const chosen = chooseBusiness(businesses, step.type, orgIdOf(businesses, step));
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
