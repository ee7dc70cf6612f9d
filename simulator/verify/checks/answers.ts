import { EVENT_TYPES } from "../../../shared/events.ts";
import { SCHEDULE_SECONDS } from "../../domain/retry-policy.ts";
import { ANSWER_LOST, attempts, attemptsAfter, burst, copiesAtOnce, sixInARow, taken } from "../attempts.ts";
import type { Runs } from "../check.ts";
import { isAcknowledged } from "../delivery.ts";
import { accepted, allAcknowledged, allRefused, every, failed, noneAcknowledged } from "../judgement.ts";

const everyType = EVENT_TYPES.map((type): [string, Runs[string]] => [
  `acknowledgement.${type.replace(".", "-")}`,
  { about: [type], run: accepted(({ deliver, event }) => deliver(event(type))) },
]);

/** Whether honest deliveries are answered as the service expects: one, the same again, and many at once. */
export const answerRuns: Runs = {
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
  "load.burst": async (context) => {
    const sent = burst(context).map((envelope) => attempts(context, envelope));
    return every(...(await Promise.all(sent)).map(taken));
  },
  "load.burst-at-first": accepted((context) => {
    const note = `One of ${context.timing.burst} at once.`;
    return Promise.all(burst(context).map((envelope) => context.deliver(envelope, { note })));
  }),
  "load.one-event-storm": accepted((context) => copiesAtOnce(context, context.event(), 30)),
  "load.among-forgeries": async (context) => {
    const { deliver, event, timing } = context;
    const note = `Among ${timing.burst} forged ones and five honest ones at once.`;
    const forged = Array.from({ length: timing.burst }, () =>
      deliver(event(), { secret: "not-the-secret", forged: true, note }),
    );
    const honest = Array.from({ length: 5 }, () => attempts(context, event("voicemail.created")));
    return every(...(await Promise.all(honest)).map(taken), noneAcknowledged(await Promise.all(forged)));
  },
  "load.prompt": async ({ deliver, event, timing }) => {
    const note = `One of ${timing.burst} at once.`;
    const sent = Array.from({ length: timing.burst }, () => deliver(event(), { note }));
    const exchanges = await Promise.all(sent);
    const slowest = exchanges.reduce((worst, next) => (next.durationMs > worst.durationMs ? next : worst));
    if (slowest.durationMs <= timing.responseTimeoutMs / 2) return allAcknowledged(exchanges);
    const problem = `The slowest of ${timing.burst} answers took ${Math.round(slowest.durationMs)} ms.`;
    return failed("slow", problem, [slowest]);
  },
};
