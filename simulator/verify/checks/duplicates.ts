import type { Check } from "../check.ts";
import { isAcknowledged } from "../delivery.ts";
import { ANSWER_LOST, attemptsAfter, copiesAtOnce, sixInARow, taken } from "../attempts.ts";
import { accepts, allAcknowledged, every } from "../judge.ts";
import { RULES } from "../rules.ts";

const ACKNOWLEDGE_HINT =
  "A duplicate is good news: answer 2xx as you did the first time. A refusal is repeated until the delivery is dead.";

/** Whether events that arrive more than once are acknowledged each time; what they do is judged under effects. */
export const duplicateChecks: Check[] = [
  accepts(
    "duplicates",
    {
      id: "duplicates.in-sequence",
      title: "acknowledges the same event six times in a row",
      level: "must",
      spec: RULES.duplicates,
      hint: ACKNOWLEDGE_HINT,
    },
    (context) => sixInARow(context, context.event("voicemail.created")),
  ),
  {
    id: "duplicates.at-once",
    title: "acknowledges the same event arriving ten times at once",
    level: "advice",
    group: "duplicates",
    spec: RULES.duplicates,
    hint: "Let the database decide who was first (a unique id, insert or ignore); the others are acknowledged as duplicates.",
    run: async (context) =>
      allAcknowledged(await copiesAtOnce(context, context.event("booking.created"), 10)),
  },
  {
    id: "duplicates.at-once-any",
    title: "acknowledges at least one of ten copies arriving at once",
    level: "must",
    group: "duplicates",
    spec: RULES.duplicates,
    hint: "Copies that arrive together must not shut each other out for good.",
    run: async (context) => {
      const exchanges = await copiesAtOnce(context, context.event("order.created"), 10);
      if (exchanges.some(isAcknowledged)) return { outcome: "passed" };
      return { outcome: "failed", problem: "None of ten copies of an event was acknowledged.", exchanges };
    },
  },
  {
    id: "duplicates.after-lost-answer",
    title: "acknowledges an event whose first answer was lost",
    level: "must",
    group: "duplicates",
    spec: RULES.duplicates,
    hint: ACKNOWLEDGE_HINT,
    phase: "alone",
    run: async (context) => {
      const exchanges = await attemptsAfter(context, context.event("call.completed"), ANSWER_LOST);
      return taken(exchanges);
    },
  },
  accepts(
    "duplicates",
    {
      id: "duplicates.hour-between",
      title: "acknowledges a duplicate of an event created an hour ago",
      level: "must",
      spec: RULES.retries,
      hint: "An attempt may come hours after the event; only t in the signature header tells how old the delivery is.",
    },
    async ({ deliver, event, nowSeconds }) => {
      const envelope = event("voicemail.created", {}, { created: nowSeconds() - 3_600 });
      return [await deliver(envelope), await deliver(envelope)];
    },
  ),
  accepts(
    "duplicates",
    {
      id: "duplicates.same-call-two-types",
      title: "acknowledges one call under two types",
      level: "must",
      about: ["call.completed", "call.transferred"],
      spec: RULES.types,
      hint: "call.completed and call.transferred of one call are two events with two ids: de-duplicate by event id, not by call id.",
    },
    async ({ deliver, event, later }) => {
      const completed = event("call.completed");
      const transferred = later(completed, "call.transferred");
      return [await deliver(completed), await deliver(transferred)];
    },
  ),
  {
    id: "duplicates.six-attempts-of-several",
    title: "acknowledges the attempts of several events in a jumble",
    level: "must",
    group: "duplicates",
    spec: RULES.retries,
    hint: ACKNOWLEDGE_HINT,
    run: async ({ deliver, event }) => {
      const envelopes = [event("call.completed"), event("voicemail.created"), event("order.created")];
      const first = await Promise.all(envelopes.map((envelope) => deliver(envelope)));
      const again = await Promise.all(envelopes.toReversed().map((envelope) => deliver(envelope)));
      return every(allAcknowledged(first), allAcknowledged(again));
    },
  },
];
