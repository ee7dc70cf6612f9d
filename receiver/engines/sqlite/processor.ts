import { LeaseLost, type HandlerDatabase, type ProcessOptions, type Processor } from "../../engine.ts";
import { createLoop, type Asked, type JobStore } from "../loop.ts";
import type { Claims } from "./claims.ts";
import type { Handlers } from "./handlers.ts";
import type { ClaimedJob } from "./taking.ts";
import { createLease, type LeaseParts } from "./workers.ts";

/** At rest, how often it looks for jobs that have come due, and for events that another process has stored. */
const POLL_MS = 100;

/** A batch is doubled up to this many claims, as long as the one before was used up within this time. */
const LARGEST_BATCH = 256;
const QUICK_MS = 50;

/**
 * The background loop over SQLite: it claims again as soon as a batch is used up. At rest it writes nothing: it looks
 * whether something has come or is due.
 */
export function createProcessor(
  engine: LeaseParts &
    Pick<JobStore<ClaimedJob>, "transact"> & {
      claims: Claims;
      handlers: Pick<Handlers, "own">;
      query: HandlerDatabase["query"];
    },
  options: ProcessOptions,
): Processor {
  const { claims, handlers, settling, transactions, clock } = engine;
  const { concurrency, only } = options;
  const loop = createLoop<ClaimedJob>(clock, options, ({ held, lose, room, turns }) => {
    const lease = createLease(engine, { ...options, held, onLost: () => lose(held()) });
    let batchLimit = concurrency;
    let claimedAtMs = 0;
    /** What the last batch took until it was used up. */
    let tookMs: number | undefined;
    return {
      restMs: POLL_MS,
      aheadMs: Infinity,
      beat: lease.beat,
      doubt: lease.commitFailed,
      claim,
      transact: engine.transact,
      steps: (job) => ({
        find: async (name) => settling.findStep(job.job, name),
        record: async (name, json) => {
          const isRecorded = await transactions.run(() => settling.recordStep(job, name, json));
          if (!isRecorded) throw new LeaseLost(job.id);
        },
      }),
      settle: async (job, ending) =>
        transactions.run(() => (ending ? settling.settle(job, ending, clock.nowMs()) : settling.return(job))),
      leave: async () => transactions.run(lease.leave),
    };

    /** Claims a batch when the last one is used up. */
    async function claim({ free, isAhead }: Asked): Promise<ClaimedJob[]> {
      if (isAhead) return [];
      const sinceMs = clock.monotonicMs() - claimedAtMs;
      tookMs ??= sinceMs;
      // While handlers take their time, events are split into jobs: so that none waits behind those of another handler.
      if (free === 0 && (sinceMs < QUICK_MS || handlers.own().length < 2 || !claims.hasArrived())) return [];
      if (!claims.hasArrived() && !claims.isAnyWaiting()) {
        turns.othersHadTheirs();
        return [];
      }
      // More at a time while handlers are quick, and no more than there are slots once they aren't.
      batchLimit = tookMs < QUICK_MS ? Math.min(batchLimit * 2, LARGEST_BATCH) : concurrency;
      const limit = free === 0 ? 0 : Math.max(free, batchLimit);
      const suspects = free === 0 || turns.isOthers() ? "later" : held().length > 0 ? "wait" : "now";
      const { claimed, buried } = await lease.asWorker((worker) =>
        claims.claim({ nowMs: clock.nowMs(), worker, limit, room, suspects, only }),
      );
      for (const job of buried) options.onHandled({ ...job, attempt: 0, outcome: "dead", durationMs: 0 });
      if (claimed.length > 0) [claimedAtMs, tookMs] = [clock.monotonicMs(), undefined];
      if (claimed.length < limit) turns.othersHadTheirs();
      return claimed;
    }
  });
  return { ...loop, query: engine.query };
}
