import { setImmediate } from "node:timers/promises";
import type { Clock } from "../clock.ts";
import type { Job, Jobs } from "../store/port.ts";
import type { Handler } from "./handler.ts";
import type { Policy } from "./policy.ts";
import { createRateLimit } from "./rate-limit.ts";

/** How often a queue looks for due jobs if nothing wakes it. */
const LOOK_MS = 1_000;

/** Pause after an error of the database. */
export const TROUBLE_MS = 250;

/** Jobs of one handler that run or whose ends are not written yet; with so many, nothing is claimed. */
const MOST_OPEN = 512;

/** Looks after which timers and requests get their turn, though the database answers at once. */
const LOOKS_A_TURN = 50;

export type Queue = {
  /** Claims and starts jobs until `stopping` is aborted. */
  run: () => Promise<void>;
  /** Looks at once. */
  wake: () => void;
};

/** The jobs of one handler: keeps its slots filled with due jobs, the longest due first. */
export function createQueue(options: {
  jobs: Jobs;
  handler: Handler;
  policy: Policy;
  clock: Clock;
  stopping: AbortSignal;
  /** Runs a claimed job. Calls `onFree` when its slot is free; resolves when its end is written. Never rejects. */
  work: (job: Job, onFree: () => void) => Promise<void>;
  onTrouble: (error: unknown) => void;
}): Queue {
  const { jobs, handler, policy, clock, stopping } = options;
  const limit = handler.rateLimit && createRateLimit(handler.rateLimit, clock);
  const mostOpen = Math.max(policy.concurrency, MOST_OPEN);
  let busy = 0;
  let open = 0;
  let alarm = new AbortController();

  return { run, wake };

  function wake(): void {
    // Without a reason, `abort` would make an error each time.
    alarm.abort("woken");
  }

  async function run(): Promise<void> {
    for (let looks = 1; !stopping.aborted; looks += 1) {
      alarm = new AbortController();
      const restMs = await look();
      if (restMs > 0 && !stopping.aborted) await clock.sleep(restMs, alarm.signal);
      if (looks % LOOKS_A_TURN === 0) await setImmediate();
    }
  }

  /** Claims and starts as many jobs as there is room for. Returns how long to sleep. */
  async function look(): Promise<number> {
    const waitMs = limit?.waitMs() ?? 0;
    if (waitMs > 0) return Math.min(waitMs, LOOK_MS);
    const room = Math.min(policy.concurrency - busy, mostOpen - open, limit?.room() ?? Infinity);
    if (room <= 0) return LOOK_MS;
    try {
      const claimed = await jobs.claim(handler.name, room);
      for (const job of claimed) start(job);
      return claimed.length < room ? LOOK_MS : 0;
    } catch (error) {
      options.onTrouble(error);
      return TROUBLE_MS;
    }
  }

  function start(job: Job): void {
    limit?.begin();
    busy += 1;
    open += 1;
    const onFree = () => {
      busy -= 1;
      // In the same turn as the job's end is written: the store combines that and the next claim.
      wake();
    };
    void options.work(job, onFree).finally(() => {
      open -= 1;
      // The next job of its key may be due now.
      if (handler.key.length > 0 || open === mostOpen - 1) wake();
    });
  }
}
