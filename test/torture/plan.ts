import type { Run } from "./run.ts";

export type Planned = { run: Run; size: number; minutes: number };

export type Plan = {
  /** One after the other, in this order. */
  inTurn: Planned[];
  /** From the first of those that are not `alone` to the end. */
  beside: Planned[];
  /** What all of it takes on two quiet cores. */
  minutes: number;
};

/** Of the minutes given, what starting processes and a slower machine may take. */
const RESERVE = 0.07;
const SMALLEST_SIZE = 0.02;

/** Gives each run its share of `minutes`: the fixed ones what they take, the others the rest, alike. */
export function plan(runs: readonly Run[], minutes: number): Plan {
  const usable = minutes * (1 - RESERVE);
  const inTurn = runs.filter(({ pace }) => pace !== "beside");
  const isFixed = ({ pace }: Run): boolean => pace === "fixed" || pace === "alone";
  const fixed = sum(inTurn.filter(isFixed));
  const flexible = sum(inTurn.filter((run) => !isFixed(run)));
  const size = flexible === 0 ? 1 : Math.max(SMALLEST_SIZE, (usable - fixed) / flexible);
  const planned = inTurn.map((run): Planned => {
    const own = isFixed(run) ? 1 : size;
    return { run, size: own, minutes: run.minutes * own };
  });
  const together = sum(planned);
  const isAlone = ({ run }: Planned): boolean => run.pace === "alone";
  const alone = planned.filter(isAlone);
  const room = inTurn.length === 0 ? usable : together - sum(alone);
  const beside = runs
    .filter(({ pace }) => pace === "beside")
    .map((run): Planned => ({ run, size: room / run.minutes, minutes: room }));
  return {
    inTurn: [...alone, ...planned.filter((one) => !isAlone(one))],
    beside,
    minutes: inTurn.length === 0 ? room : together,
  };
}

function sum(all: readonly { minutes: number }[]): number {
  return all.reduce((total, { minutes }) => total + minutes, 0);
}
