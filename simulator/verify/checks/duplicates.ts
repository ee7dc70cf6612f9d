import type { Runs } from "../check.ts";
import { isAcknowledged } from "../delivery.ts";
import { ANSWER_LOST, attemptsAfter, copiesAtOnce, sixInARow, taken } from "../attempts.ts";
import { accepted, allAcknowledged, every } from "../judgement.ts";

/** Whether events that arrive more than once are acknowledged each time; what they do is judged under effects. */
export const duplicateRuns: Runs = {
  "duplicates.in-sequence": accepted((context) => sixInARow(context, context.event("voicemail.created"))),
  "duplicates.at-once": accepted((context) => copiesAtOnce(context, context.event("booking.created"), 10)),
  "duplicates.at-once-any": async (context) => {
    const exchanges = await copiesAtOnce(context, context.event("order.created"), 10);
    return exchanges.some(isAcknowledged) ? { outcome: "passed" } : allAcknowledged(exchanges);
  },
  "duplicates.after-lost-answer": async (context) =>
    taken(await attemptsAfter(context, context.event("call.completed"), ANSWER_LOST)),
  "duplicates.hour-between": accepted(async ({ deliver, event, nowSeconds }) => {
    const envelope = event("voicemail.created", {}, { created: nowSeconds() - 3_600 });
    return [await deliver(envelope), await deliver(envelope)];
  }),
  "duplicates.same-call-two-types": {
    about: ["call.completed", "call.transferred"],
    run: accepted(async ({ deliver, event, later }) => {
      const completed = event("call.completed");
      const transferred = later(completed, "call.transferred");
      return [await deliver(completed), await deliver(transferred)];
    }),
  },
  "duplicates.six-attempts-of-several": async ({ deliver, event }) => {
    const envelopes = [event("call.completed"), event("voicemail.created"), event("order.created")];
    const first = await Promise.all(envelopes.map((envelope) => deliver(envelope)));
    const again = await Promise.all(envelopes.toReversed().map((envelope) => deliver(envelope)));
    return every(allAcknowledged(first), allAcknowledged(again));
  },
};
