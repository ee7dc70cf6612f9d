import { MAXIMUM_ATTEMPTS } from "../../domain/retry-policy.ts";
import type { Random } from "../../domain/random.ts";

/** What the network between service and receiver does to one attempt; the simplest first. */
export const FATES = ["2xx", "4xx", "5xx", "time-out", "late 2xx", "reset", "slow body"] as const;

export type Fate = (typeof FATES)[number];

/** One attempt, and whether another copy of the event reaches the receiver meanwhile or right behind it. */
export type Step = { fate: Fate; copy?: "during" | "after" };

/** The fates of a delivery's attempts; attempts beyond it go through. */
export type Schedule = readonly Step[];

const COPY_PROBABILITY = 0.25;

/** A schedule of one to six attempts; all but the last mostly fail, since a success ends a delivery. */
export function randomSchedule(random: Random): Schedule {
  const length = random.int(1, MAXIMUM_ATTEMPTS);
  return Array.from({ length }, (_, index): Step => {
    const isLast = index === length - 1;
    const fate = isLast && random.chance(0.7) ? "2xx" : random.pick(FATES.slice(1));
    if (!random.chance(COPY_PROBABILITY)) return { fate };
    return { fate, copy: random.chance(0.5) ? "during" : "after" };
  });
}

/** Every schedule that is one step simpler: an attempt less, a copy less, or a simpler fate. The shortest first. */
export function simplerSchedules(schedule: Schedule): Schedule[] {
  const without = schedule.map((_, index) => schedule.toSpliced(index, 1)).filter(({ length }) => length > 0);
  const changed = schedule.flatMap((step, index) => {
    const simplerFates = FATES.slice(0, FATES.indexOf(step.fate)).map((fate): Step => ({ ...step, fate }));
    const simplerSteps: Step[] =
      step.copy === undefined ? simplerFates : [{ fate: step.fate }, ...simplerFates];
    return simplerSteps.map((simpler) => schedule.with(index, simpler));
  });
  return [...without, ...changed];
}

/** `reset → late 2xx with a copy after it → 2xx`; what stands behind the schedule's end goes through. */
export function describeSchedule(schedule: Schedule): string {
  const succeeds = schedule.some(({ fate }) => fate === "2xx" || fate === "slow body");
  const rest: Step[] = succeeds || schedule.length === MAXIMUM_ATTEMPTS ? [] : [{ fate: "2xx" }];
  return [...schedule, ...rest]
    .map(({ fate, copy }) => (copy === undefined ? fate : `${fate} with a copy ${copy} it`))
    .join(" → ");
}
