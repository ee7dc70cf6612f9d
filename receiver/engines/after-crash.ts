import { LEASE_MS, type RetryPolicy } from "../engine.ts";

/**
 * How long an event waits whose worker crashed, by the attempts that it has had: for its backoff, since the handler may
 * have been the reason, and no longer than a lease lasts. Milliseconds.
 */
export function crashBackoffsMs({ maximumAttempts, backoffMs }: RetryPolicy): number[] {
  return Array.from({ length: maximumAttempts }, (_, index) => Math.min(backoffMs(index + 1), LEASE_MS));
}
