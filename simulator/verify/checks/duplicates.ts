import type { Check } from "../check.ts";
import { isAcknowledged } from "../delivery.ts";
import { ANSWER_LOST, attemptsAfter, copiesAtOnce, sixInARow, taken } from "../attempts.ts";
import { accepted, allAcknowledged, checksOf, every } from "../judge.ts";
import { RULES } from "../rules.ts";

const usual = {
  spec: RULES.duplicates,
  hint: "A duplicate is good news: answer 2xx as you did the first time. A refusal is repeated until the delivery is dead.",
};

/** Whether events that arrive more than once are acknowledged each time; what they do is judged under effects. */
export const duplicateChecks: Check[] = checksOf("duplicates", usual, {
  "in-sequence": {
    title: "acknowledges the same event six times in a row",
    run: accepted((context) => sixInARow(context, context.event("voicemail.created"))),
  },
  "at-once": {
    title: "acknowledges the same event arriving ten times at once",
    level: "advice",
    hint: "Let the database decide who was first (a unique id, insert or ignore); the others are acknowledged as duplicates.",
    run: accepted((context) => copiesAtOnce(context, context.event("booking.created"), 10)),
  },
  "at-once-any": {
    title: "acknowledges at least one of ten copies arriving at once",
    hint: "Copies that arrive together must not shut each other out for good.",
    run: async (context) => {
      const exchanges = await copiesAtOnce(context, context.event("order.created"), 10);
      if (exchanges.some(isAcknowledged)) return { outcome: "passed" };
      return { outcome: "failed", problem: "None of ten copies of an event was acknowledged.", exchanges };
    },
  },
  "after-lost-answer": {
    title: "acknowledges an event whose first answer was lost",
    phase: "alone",
    run: async (context) => taken(await attemptsAfter(context, context.event("call.completed"), ANSWER_LOST)),
  },
  "hour-between": {
    title: "acknowledges a duplicate of an event created an hour ago",
    spec: RULES.retries,
    hint: "An attempt may come hours after the event; only t in the signature header tells how old the delivery is.",
    run: accepted(async ({ deliver, event, nowSeconds }) => {
      const envelope = event("voicemail.created", {}, { created: nowSeconds() - 3_600 });
      return [await deliver(envelope), await deliver(envelope)];
    }),
  },
  "same-call-two-types": {
    title: "acknowledges one call under two types",
    about: ["call.completed", "call.transferred"],
    spec: RULES.types,
    hint: "call.completed and call.transferred of one call are two events with two ids: de-duplicate by event id, not by call id.",
    run: accepted(async ({ deliver, event, later }) => {
      const completed = event("call.completed");
      const transferred = later(completed, "call.transferred");
      return [await deliver(completed), await deliver(transferred)];
    }),
  },
  "six-attempts-of-several": {
    title: "acknowledges the attempts of several events in a jumble",
    spec: RULES.retries,
    run: async ({ deliver, event }) => {
      const envelopes = [event("call.completed"), event("voicemail.created"), event("order.created")];
      const first = await Promise.all(envelopes.map((envelope) => deliver(envelope)));
      const again = await Promise.all(envelopes.toReversed().map((envelope) => deliver(envelope)));
      return every(allAcknowledged(first), allAcknowledged(again));
    },
  },
});
