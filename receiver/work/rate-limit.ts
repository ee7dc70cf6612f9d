import type { Clock } from "../clock.ts";
import type { Handler } from "./handler.ts";

/** Lets at most `limit` attempts begin within any `perSeconds`; any number without a limit. */
export function createRateLimit(rateLimit: Handler["rateLimit"], clock: Clock) {
  const { limit = Infinity, perSeconds = 0 } = rateLimit ?? {};
  /** When the last attempts began, the oldest first. */
  const begun: number[] = [];
  const sinceMs = (): number => clock.monotonicMs() - perSeconds * 1_000;

  return {
    /** How many may begin now. */
    room: (): number => {
      while ((begun[0] ?? Infinity) <= sinceMs()) begun.shift();
      return limit - begun.length;
    },
    /** Milliseconds until the oldest no longer counts; Infinity if there is none. */
    waitMs: (): number => Math.ceil((begun[0] ?? Infinity) - sinceMs()),
    begin: (): void => void (rateLimit && begun.push(clock.monotonicMs())),
  };
}
