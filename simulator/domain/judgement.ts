/**
 * What the answers of a receiver count as: for the delivery engine, for the verdict on a delivery, for `verify` and for the
 * words of the dashboard, which all read it here. It imports only what the dashboard can use, too.
 */
import { isRefusal, isSuccess } from "../../shared/causes.ts";

export { isRefusal, isSuccess };

/** How a receiver answers a delivery that the service did not sign, or not lately (SPEC §6 Signature, rules 4 and 5). */
export type ForgeryAnswer = "accepted" | "refused" | "failed";

/**
 * Accepting is wrong: the specification demands a refusal. Any other status keeps the event out, and the service repeats it
 * as it would after a 401; one that is no 4xx is advice to mend: a redirect or an error says that something broke on bytes
 * that anybody can send, or that they got further than they should.
 */
export function forgeryAnswer(status: number): ForgeryAnswer {
  if (isSuccess(status)) return "accepted";
  return isRefusal(status) ? "refused" : "failed";
}
