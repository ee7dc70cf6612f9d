import type { ScheduleClock } from "./clock.ts";
import type { Journal } from "./journal.ts";

/** Moves schedule time forward on request, from due time to due time, so that every attempt is made at its own. */
export function createAdvance(options: {
  clock: ScheduleClock;
  journal: Journal;
  nextDueMs: () => number | undefined;
  settled: () => Promise<void>;
  isStopped: () => boolean;
  wake: () => void;
}) {
  const { clock, journal, nextDueMs, settled, isStopped, wake } = options;
  let walks = 0;
  /** The furthest target so far: an `advance` that comes while another is under way counts from there. */
  let furthestMs = 0;

  async function walkTo(targetMs: number): Promise<void> {
    walks++;
    try {
      for (;;) {
        await settled();
        if (isStopped()) return;
        const nextMs = nextDueMs();
        if (nextMs === undefined || nextMs > targetMs) break;
        clock.moveTo(nextMs);
      }
      if (Number.isFinite(targetMs)) clock.moveTo(targetMs);
    } finally {
      walks--;
      journal.write({ kind: "clock.changed" });
      wake();
    }
  }

  return {
    isUnderWay: () => walks > 0,
    /** Moves by `seconds` and makes every attempt that falls due on the way, in order of due time. Two calls at once add up. */
    advance: (seconds: number): Promise<void> => {
      furthestMs = Math.max(clock.now(), furthestMs) + seconds * 1000;
      return walkTo(furthestMs);
    },
    next: async (): Promise<void> => {
      await settled();
      const nextMs = isStopped() ? undefined : nextDueMs();
      if (nextMs !== undefined) await walkTo(Math.max(nextMs, clock.now()));
    },
    /** Moves until every delivery is delivered or dead. */
    run: (): Promise<void> => walkTo(Number.POSITIVE_INFINITY),
  };
}
