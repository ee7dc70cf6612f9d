import type { LoadPlan, LoadResult } from "./run.ts";

export type KneeStep = ReturnType<typeof judge>;

export type Knee = {
  /** The highest rate at which it held up; undefined when it did at none. */
  rate: number | undefined;
  steps: KneeStep[];
  stopped: boolean;
};

const LOWEST_RATE = 50;
/** The highest that `--rate` accepts. */
const HIGHEST_RATE = 100_000;
const HALVINGS = 3;
/** It holds up while p99 stays within three times that of the first rate, or within 50 ms where that is more. */
const WORSE_BY = 3;
const EASY_MS = 50;
const KEEPS_UP = 0.95;

/** Doubles the rate until the receiver no longer holds up, then halves the gap a few times. */
export async function findKnee(
  plan: Omit<LoadPlan, "rate">,
  options: {
    firstRate?: number | undefined;
    run: (plan: LoadPlan) => Promise<LoadResult>;
    isStopped: () => boolean;
    onStep: (step: KneeStep) => void;
  },
): Promise<Knee> {
  const steps: KneeStep[] = [];
  let easyP99Ms: number | undefined;

  /** Undefined for an interrupted step, which proves nothing. */
  async function holdsAt(rate: number): Promise<boolean | undefined> {
    const result = await options.run({ ...plan, rate });
    if (options.isStopped()) return undefined;
    const step = judge(rate, result, easyP99Ms);
    easyP99Ms ??= step.p99Ms;
    steps.push(step);
    options.onStep(step);
    return step.holds;
  }

  let good: number | undefined;
  let bad: number | undefined;
  for (let rate = options.firstRate ?? LOWEST_RATE; rate <= HIGHEST_RATE && !options.isStopped(); rate *= 2) {
    const holds = await holdsAt(rate);
    if (holds === true) {
      good = rate;
      continue;
    }
    if (holds === false) bad = rate;
    break;
  }
  for (
    let time = 0;
    time < HALVINGS && good !== undefined && bad !== undefined && !options.isStopped();
    time += 1
  ) {
    const rate = Math.round((good + bad) / 2);
    const holds = await holdsAt(rate);
    if (holds === true) good = rate;
    else if (holds === false) bad = rate;
  }
  return { rate: good, steps, stopped: options.isStopped() };
}

function judge(rate: number, result: LoadResult, easyP99Ms: number | undefined) {
  const seconds = result.elapsedMs / 1000;
  const acknowledgedPerSecond = result.acknowledged / seconds;
  const failed = result.sent - result.acknowledged + result.dropped;
  const p99Ms = result.latencies.quantileMs(0.99);
  const limitMs = Math.max(EASY_MS, WORSE_BY * (easyP99Ms ?? p99Ms));
  const holds = failed === 0 && p99Ms <= limitMs && acknowledgedPerSecond >= rate * KEEPS_UP;
  return { rate, acknowledgedPerSecond, p99Ms, failed, holds };
}
