import type { Clock } from "../clock.ts";

/** Lets at most `limit` attempts begin within any `perSeconds`. */
export function createRateLimit({ limit, perSeconds }: { limit: number; perSeconds: number }, clock: Clock) {
  /** When the last `limit` attempts began, the oldest first. */
  const begun: number[] = [];

  return {
    /** How many may begin now. */
    room: (): number => {
      while ((begun[0] ?? Infinity) <= clock.monotonicMs() - perSeconds * 1_000) begun.shift();
      return limit - begun.length;
    },
    /** Milliseconds until one may begin; 0 if one may now. */
    waitMs() {
      const [oldest = 0] = begun;
      return this.room() > 0 ? 0 : Math.ceil(oldest + perSeconds * 1_000 - clock.monotonicMs());
    },
    begin: (): void => void begun.push(clock.monotonicMs()),
  };
}
