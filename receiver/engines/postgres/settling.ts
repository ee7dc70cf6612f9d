import type { Clock } from "../../clock.ts";
import type { Jobs, Settlement } from "./jobs.ts";

const PAUSE_AFTER_TROUBLE_MS = 500;

/**
 * Answers a function that settles a claim and tells whether it was still held. What ends while a statement is on its
 * way is settled together in the next. A database that is away is asked again, until `stopped`.
 */
export function createSettling(
  jobs: Pick<Jobs, "settle">,
  options: { clock: Clock; stopped: AbortSignal; onTrouble: (error: unknown) => void },
): (settlement: Settlement) => Promise<boolean> {
  const { clock, stopped } = options;
  let waiting: { settlement: Settlement; give: (held: boolean) => void }[] = [];
  let settling = false;

  return async (settlement) => {
    const { promise, resolve: give } = Promise.withResolvers<boolean>();
    waiting.push({ settlement, give });
    if (!settling) void settleAll();
    return promise;
  };

  async function settleAll(): Promise<void> {
    settling = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        const held = await jobs.settle(batch.map(({ settlement }) => settlement));
        for (const [n, { give }] of batch.entries()) give(held.has(n));
      } catch (error) {
        options.onTrouble(error);
        if (stopped.aborted) for (const { give } of batch) give(false);
        else waiting = [...batch, ...waiting];
        await clock.sleep(PAUSE_AFTER_TROUBLE_MS, stopped);
      }
    }
    settling = false;
  }
}
