import type { Attempt } from "./attempts.ts";
import type { Fault } from "./faults.ts";
import type { Blame } from "./outcome.ts";

/**
 * Whose doing it is that an attempt failed; null when it did not fail, or not yet. A failure after a fault that we put
 * into it is ours, and so is one that we interrupted: neither says anything about the receiver.
 */
export function blameOf(
  attempt: Pick<Attempt, "httpStatus" | "error">,
  injected: readonly Fault[],
): Blame | null {
  const { httpStatus, error } = attempt;
  if (error === null && (httpStatus === null || isSuccess(httpStatus))) return null;
  return injected.length > 0 || error === "interrupted" ? "simulator" : "receiver";
}

/** SPEC §6 Retry policy: any 2xx. */
export function isSuccess(httpStatus: number): boolean {
  return httpStatus >= 200 && httpStatus <= 299;
}
