/** Judges a receiver's answers, for the engine, the verdicts, `verify` and the dashboard. Imports nothing. */

/** Whether a delivery counts as done: any 2xx (SPEC §6 Retry policy). */
export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

/** Any 4xx: the request is at fault. */
export function isRefusal(status: number): boolean {
  return status >= 400 && status <= 499;
}

/** How a receiver answers a delivery that the service did not sign, or not lately (SPEC §6 Signature, rules 4 and 5). */
export type ForgeryAnswer = "accepted" | "refused" | "failed";

/** Accepting is wrong; a status other than 4xx is advice: forged bytes got too far. */
export function forgeryAnswer(status: number): ForgeryAnswer {
  if (isSuccess(status)) return "accepted";
  return isRefusal(status) ? "refused" : "failed";
}
