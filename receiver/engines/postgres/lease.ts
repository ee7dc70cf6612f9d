import type { Clock } from "../../clock.ts";
import { LEASE_MS } from "../../engine.ts";
import type { Claims } from "./claims.ts";
import type { Trigger } from "./trigger.ts";

const HEARTBEAT_MS = LEASE_MS / 3;

export type Lease = {
  /**
   * Extends the lease when it is time, and keeps the jobs coming. False when somebody took this worker for dead, and has
   * what it held; it has a new lease then.
   */
  keep: (held: readonly number[]) => Promise<boolean>;
  /** Has the next `keep` extend it at once, which puts back what was claimed and never heard of. */
  touch: () => void;
  /** Takes this worker off the list: whatever it still holds is anybody's. */
  resign: () => Promise<void>;
};

/** The sign of life of one worker: a row in the database, and graphile-worker's pool, whose jobs fall free with it. */
export function createLease(options: {
  claims: Pick<Claims, "register" | "extend" | "resign">;
  worker: string;
  clock: Clock;
  startTrigger: () => Promise<Trigger>;
}): Lease {
  const { claims, worker, clock } = options;
  let trigger: Trigger | undefined;
  let registered = false;
  let extendAtMs = 0;
  const touch = (): void => {
    extendAtMs = Number.NEGATIVE_INFINITY;
  };

  return {
    keep: async (held) => {
      if (trigger === undefined || trigger.ended()) {
        trigger = await options.startTrigger();
        touch();
      }
      if (registered && clock.monotonicMs() < extendAtMs) return true;
      const nextMs = clock.monotonicMs() + HEARTBEAT_MS;
      const lost = registered && !(await claims.extend(worker, trigger.pool, held));
      if (lost || !registered) await claims.register(worker, trigger.pool);
      registered = true;
      extendAtMs = nextMs;
      return !lost;
    },
    touch,
    resign: async () => {
      await trigger?.stop();
      await claims.resign(worker);
    },
  };
}
