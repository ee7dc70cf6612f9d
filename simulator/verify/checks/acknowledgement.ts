import { EVENT_TYPES } from "../../../shared/events.ts";
import { SCHEDULE_SECONDS } from "../../../shared/retry-policy.ts";
import type { Check } from "../check.ts";
import { accepted, allAcknowledged, allRefused, checksOf, every, type Row } from "../judge.ts";
import { RULES } from "../rules.ts";

const usual = {
  spec: RULES.types,
  hint: "Answer 2xx for every event type, also for those that you have no use for; a refusal is repeated six times.",
};

const everyType = EVENT_TYPES.map((type): [string, Row] => [
  type.replace(".", "-"),
  {
    title: `acknowledges ${type}`,
    about: [type],
    run: accepted(({ deliver, event }) => deliver(event(type))),
  },
]);

/** Whether honest deliveries are answered as the service expects. */
export const acknowledgementChecks: Check[] = checksOf("acknowledgement", usual, {
  ...Object.fromEntries(everyType),
  prompt: {
    title: "answers long before the 10 seconds are over",
    level: "advice",
    spec: RULES.answer,
    hint: "Store the event, answer, and do the work afterwards: a handler that takes its time should not hold up the answer.",
    run: async ({ deliver, event, timing }) => {
      const exchanges = await Promise.all(EVENT_TYPES.map((type) => deliver(event(type))));
      const slow = exchanges.find(({ durationMs }) => durationMs > timing.promptAnswerMs);
      if (slow === undefined) return { outcome: "passed" };
      const problem = `The answer took ${Math.round(slow.durationMs)} ms; the service gives up after ${timing.responseTimeoutMs} ms.`;
      return { outcome: "failed", problem, exchanges: [slow] };
    },
  },
  "last-attempt": {
    title: "acknowledges the sixth attempt, 14 h 36 min after the event",
    spec: RULES.retries,
    hint: "Judge the age of a delivery by t in the signature header, never by the event's created.",
    run: accepted(({ deliver, event, nowSeconds }) =>
      deliver(event("call.completed", {}, { created: nowSeconds() - SCHEDULE_SECONDS })),
    ),
  },
  "after-forgery": {
    title: "acknowledges an event although a forged one bore its id before",
    spec: RULES.forged,
    hint: "Verify first, remember the id afterwards: otherwise anybody can block an event by sending its id.",
    run: async ({ deliver, event }) => {
      const envelope = event("voicemail.created");
      const forged = await deliver(envelope, { secret: "not-the-secret", forged: true });
      return every(allRefused([forged]), allAcknowledged([await deliver(envelope)]));
    },
  },
  "any-order": {
    title: "acknowledges events in any order",
    spec: RULES.retries,
    hint: "A retry of an old event arrives after newer ones; refuse nothing because of its created.",
    run: accepted(async ({ deliver, event, nowSeconds }) => [
      await deliver(event("voicemail.created", {}, { created: nowSeconds() })),
      await deliver(event("call.completed", {}, { created: nowSeconds() - 90 })),
      await deliver(event("order.created", {}, { created: nowSeconds() - 3_600 })),
    ]),
  },
  "other-organization": {
    title: "acknowledges events whatever organization they name",
    level: "advice",
    spec: RULES.envelope,
    hint: "The signing secret says whose event it is. If you serve several organizations, decide after the answer.",
    run: accepted(({ deliver, event }) =>
      deliver(event("call.completed", {}, { org_id: "org_0000000000000001" })),
    ),
  },
});
