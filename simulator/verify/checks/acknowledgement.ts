import { EVENT_TYPES } from "../../../shared/events.ts";
import { SCHEDULE_SECONDS } from "../../domain/retry-policy.ts";
import type { Runs } from "../check.ts";
import { accepted, allAcknowledged, allRefused, failed, every } from "../judgement.ts";

const everyType = EVENT_TYPES.map((type): [string, Runs[string]] => [
  `acknowledgement.${type.replace(".", "-")}`,
  { about: [type], run: accepted(({ deliver, event }) => deliver(event(type))) },
]);

/** Whether honest deliveries are answered as the service expects. */
export const acknowledgementRuns: Runs = {
  ...Object.fromEntries(everyType),
  "acknowledgement.prompt": async ({ deliver, event, timing }) => {
    const exchanges = await Promise.all(EVENT_TYPES.map((type) => deliver(event(type))));
    const slow = exchanges.find(({ durationMs }) => durationMs > timing.promptAnswerMs);
    if (slow === undefined) return { outcome: "passed" };
    const problem = `The answer took ${Math.round(slow.durationMs)} ms; the service gives up after ${timing.responseTimeoutMs} ms.`;
    return failed("slow", problem, [slow]);
  },
  "acknowledgement.last-attempt": accepted(({ deliver, event, nowSeconds }) =>
    deliver(event("call.completed", {}, { created: nowSeconds() - SCHEDULE_SECONDS })),
  ),
  "acknowledgement.after-forgery": async ({ deliver, event }) => {
    const envelope = event("voicemail.created");
    const forged = await deliver(envelope, { secret: "not-the-secret", forged: true });
    return every(allRefused([forged]), allAcknowledged([await deliver(envelope)]));
  },
  "acknowledgement.any-order": accepted(async ({ deliver, event, nowSeconds }) => [
    await deliver(event("voicemail.created", {}, { created: nowSeconds() })),
    await deliver(event("call.completed", {}, { created: nowSeconds() - 90 })),
    await deliver(event("order.created", {}, { created: nowSeconds() - 3_600 })),
  ]),
  "acknowledgement.other-organization": accepted(({ deliver, event }) =>
    deliver(event("call.completed", {}, { org_id: "org_0000000000000001" })),
  ),
};
