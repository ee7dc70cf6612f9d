import type { Exchange } from "../../simulator/verify/delivery.ts";
import type { NoAnswer } from "../../simulator/verify/wire.ts";

/** An exchange that ended with this status, or without an answer for this reason. */
export function exchange(ending: number | NoAnswer["error"], changes: Partial<Exchange> = {}): Exchange {
  const outcome: Exchange["outcome"] =
    typeof ending === "number"
      ? { kind: "answered", status: ending, headers: [], body: Buffer.from("x"), complete: true }
      : { kind: "no_answer", error: ending, message: "No answer within 10 s." };
  const signature = { headerName: "X-Service-Signature", recipe: { t: [], headers: [] } };
  const sent = { url: "http://127.0.0.1:1/", headers: [], body: Buffer.alloc(0), signature };
  return { eventId: "evt_1", request: { ...sent, httpVersion: "1.1" }, outcome, durationMs: 1, ...changes };
}
