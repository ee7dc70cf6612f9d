import type { Clock } from "../../clock.ts";
import { LEASE_MS } from "../../engine.ts";
import type { ClaimKey, Jobs } from "./jobs.ts";
import { returned } from "./settling.ts";
import type { Workers } from "./workers.ts";

const HEARTBEAT_MS = LEASE_MS / 3;

export type Lease = {
  /**
   * Extends the lease when it is time, and gives back what this worker holds without knowing: an answer that was lost.
   * False when somebody took it for dead, and has what it held; it has a new lease then.
   */
  keep: (isKnown: (claim: ClaimKey) => boolean) => Promise<boolean>;
  /** Has the next `keep` extend it at once: what was claimed or settled last may have been lost. */
  touch: () => void;
};

/** The sign of life of one worker: a row, however much it holds. */
export function createLease(
  jobs: Pick<Jobs, "settle"> & Workers,
  { worker, clock }: { worker: string; clock: Clock },
): Lease {
  let isRegistered = false;
  let extendAtMs = Number.NEGATIVE_INFINITY;
  return {
    keep: async (isKnown) => {
      if (isRegistered && clock.monotonicMs() < extendAtMs) return true;
      const nextMs = clock.monotonicMs() + HEARTBEAT_MS;
      const holds = isRegistered ? await jobs.extend(worker) : undefined;
      const isLost = isRegistered && holds === undefined;
      if (holds === undefined) await jobs.register(worker);
      const strays = (holds ?? []).filter((claim) => !isKnown(claim));
      if (strays.length > 0) await jobs.settle(strays.map(returned));
      isRegistered = true;
      extendAtMs = nextMs;
      return !isLost;
    },
    touch: () => {
      extendAtMs = Number.NEGATIVE_INFINITY;
    },
  };
}
