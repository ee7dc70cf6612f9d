import { delayAfterAttempt } from "./retry-policy.ts";
import type { Attempts } from "./attempts.ts";
import { isSuccess } from "./judgement.ts";
import type { Deliveries, Delivery } from "./deliveries.ts";
import type { Endpoints } from "./endpoints.ts";
import type { Readings } from "./readings.ts";
import type { Outcome } from "./outcome.ts";

export type EndedAttempt = {
  delivery: Pick<Delivery, "seq" | "endpointId">;
  number: number;
  startedAtMs: number;
  endedAtMs: number;
  outcome: Outcome;
};

/** Decides how a delivery continues after an attempt (SPEC §3, §6 Retry policy), and counts the endpoint's failures. */
export function createSettlement(options: {
  deliveries: Deliveries;
  endpoints: Endpoints;
  readings: () => Readings;
}) {
  const { deliveries, endpoints } = options;

  return (attempt: EndedAttempt): void => {
    const { delivery, number } = attempt;
    const { endpointId } = delivery;
    if ("status" in attempt.outcome && isSuccess(attempt.outcome.status)) {
      deliveries.settle(delivery, "delivered");
      endpoints.countSuccess(endpointId);
      return;
    }
    const readings = options.readings();
    const delaySeconds = delayAfterAttempt(number);
    // Failures by a fault count too: to the service a lost answer is a failure like any other.
    const isCounted = readings.flag_counts === "attempts" || delaySeconds === undefined;
    const isThere = isCounted ? endpoints.countFailure(endpointId) : endpoints.exists(endpointId);
    if (delaySeconds === undefined || !isThere) {
      deliveries.settle(delivery, "dead");
      return;
    }
    const fromMs = readings.delay_counts_from === "attempt_start" ? attempt.startedAtMs : attempt.endedAtMs;
    deliveries.postpone(delivery, fromMs + delaySeconds * 1000);
  };
}

export type Settle = ReturnType<typeof createSettlement>;

/** Counts attempts that an earlier process left open as failed, since they may have been sent. */
export function settleInterrupted(options: {
  attempts: Attempts;
  deliveries: Deliveries;
  settle: Settle;
  nowMs: number;
}): void {
  const { attempts, deliveries, settle, nowMs } = options;
  for (const { row, deliveryId, number, startedAtMs } of attempts.leftOpen()) {
    const delivery = deliveries.find(deliveryId);
    if (delivery === undefined) continue;
    const outcome = { error: "interrupted" } as const;
    const endedAtMs = Math.max(nowMs, startedAtMs);
    attempts.close({ row }, { endedAtMs, durationMs: null, outcome });
    settle({ delivery, number, startedAtMs, endedAtMs, outcome });
  }
}
