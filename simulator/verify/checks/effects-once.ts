import { type EventType, EVENT_TYPES } from "../../../shared/events.ts";
import type { Check } from "../check.ts";
import type { CheckContext } from "../context.ts";
import type { Reading } from "../../observer/observer.ts";
import { ANSWER_LOST, attempts, attemptsAfter, sixInARow } from "../attempts.ts";
import { isLastOfConnection } from "../delivery.ts";
import {
  AT_MOST_ONCE,
  checksOf,
  every,
  handledSo,
  handledTimes,
  isHandled,
  ONCE,
  whenSettled,
} from "../judge.ts";
import { RULES } from "../rules.ts";

const LANES = 8;
const EVENTS_A_CONNECTION = 20;
/** Of so many others one is read back, which tells a receiver that works them off one by one from one that stands still. */
const READ_BACK_OF = 10;

export const HANDLE_HINT =
  "Acknowledge only what is stored for good, and have something that works off what is stored.";
export const ONCE_HINT =
  "Insert the id under a unique constraint in the transaction that stores the event, and handle only what was inserted.";

const usual: Pick<Check, "spec" | "hint" | "needs"> = {
  spec: RULES.duplicates,
  hint: ONCE_HINT,
  needs: ["observe"],
};

/** Genuine events are handled once, however often and in whatever form they arrive. */
export const onceEffectChecks: Check[] = checksOf("effects", usual, {
  "each-type": {
    title: "handles an event of every type once",
    spec: RULES.once,
    hint: HANDLE_HINT,
    run: handledSo(ONCE, async (context) => {
      const sent = EVENT_TYPES.map((type) => attempts(context, context.event(type)));
      return (await Promise.all(sent)).flat();
    }),
  },
  "in-sequence": {
    title: "handles an event once that arrives six times",
    run: handledSo(ONCE, (context) => sixInARow(context, context.event("order.created"))),
  },
  "at-once": {
    title: "handles an event once that arrives ten times at once",
    run: handledSo(ONCE, ({ deliver, event }) => {
      const envelopes = [event("order.created"), event("booking.created"), event("call.completed")];
      return Promise.all(
        envelopes.flatMap((envelope) => Array.from({ length: 10 }, () => deliver(envelope))),
      );
    }),
  },
  "after-handling": {
    title: "handles an event once whose duplicate comes after it was handled",
    hint: "Keep the ids of handled events: a duplicate may come hours later. Ids that are deleted with the work protect nothing.",
    run: async ({ deliver, event, handledNow, timing, waitUntil }) => {
      const envelope = event("booking.created");
      const exchanges = [await deliver(envelope)];
      const seen = await waitUntil(async () => isHandled(await handledNow(envelope.id)), timing.promptMs);
      exchanges.push(await deliver(envelope));
      return whenSettled((handled) => {
        const verdict = handledTimes(handled, exchanges, ONCE);
        if (seen || verdict.outcome !== "passed") return verdict;
        const reason = `Event ${envelope.id} was not handled within ${timing.promptMs / 1_000} s. How long may it take? Say --effects-within SECONDS.`;
        return { outcome: "unverified", reason };
      });
    },
  },
  "after-many-others": {
    title: "handles an event once whose duplicate comes after many others",
    hint: "Remember ids in the database for as long as retries may come (14 h 36 min and more), not in a list of the latest.",
    phase: "alone",
    run: async (context) => {
      const envelope = context.event("order.created");
      const exchanges = [await context.deliver(envelope)];
      const left = await sendOthers(context, context.timing.manyOthers);
      exchanges.push(await context.deliver(envelope));
      if (left === 0) return whenSettled((handled) => handledTimes(handled, exchanges, ONCE));
      const reason = `It took too long over the others, of which ${left} were left out: --thorough has the time for all.`;
      return { outcome: "unverified", reason };
    },
  },
  "lost-answer": {
    title: "handles an event once whose first answer was lost",
    phase: "alone",
    run: handledSo(ONCE, (context) => attemptsAfter(context, context.event("order.created"), ANSWER_LOST)),
  },
  "reserialized-retry": {
    title: "handles an event once whose retry is written differently",
    hint: "De-duplicate by id, not by a hash of the body.",
    run: handledSo(ONCE, async (context) => {
      const envelope = context.event("order.created");
      const again = Buffer.from(JSON.stringify(envelope, null, 2));
      return [...(await attempts(context, envelope)), ...(await attempts(context, again))];
    }),
  },
  "same-call-two-types": {
    title: "handles both events of one call",
    about: ["call.transferred", "call.completed"],
    spec: RULES.types,
    hint: "call.completed and call.transferred of one call are two events: de-duplicate by event id, not by call id.",
    run: twoOfOneObject("call.transferred", "call.completed"),
  },
  "distinct-ids": {
    title: "handles two events about one object",
    hint: "De-duplicate by event id, not by the object's id.",
    run: twoOfOneObject("voicemail.created", "voicemail.created"),
  },
  "id-case": {
    title: "handles events once whose ids differ in the case of their digits alone",
    hint: "Whether they are one event or two is not stated; compare ids in one way everywhere, and handle neither twice.",
    run: async (context) => {
      const lower = context.event("order.created");
      const upper = { ...lower, id: `evt_${lower.id.slice("evt_".length).toUpperCase()}` };
      context.ledger.superseded(upper.id);
      const exchanges = [...(await attempts(context, lower)), ...(await attempts(context, upper))];
      return whenSettled((handled) => {
        const counted = handledTimes(handled, exchanges, AT_MOST_ONCE);
        if (counted.outcome !== "passed") return counted;
        const counts = [lower.id, upper.id].map((id) => countOf(handled.of(id)));
        if (!counts.includes(1)) return handledTimes(handled, exchanges, ONCE);
        const found = counts.includes(0) ? "one event" : "two events, or looks up ids whatever their case";
        return { outcome: "passed", note: `It takes ids that differ in case alone for ${found}.` };
      });
    },
  },
});

/** Sends `count` ordinary events to fill whatever remembers ids; answers how many there was no time for. */
async function sendOthers(
  { compose, event, open, record, timing }: CheckContext,
  count: number,
): Promise<number> {
  const dueAt = performance.now() + timing.manyOthersMs;
  let left = count;
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      while (left > 0 && performance.now() < dueAt) {
        const wire = await open();
        for (let sent = 0; sent < EVENTS_A_CONNECTION && left > 0 && performance.now() < dueAt; sent += 1) {
          left -= 1;
          const isReadBack = left % READ_BACK_OF === 0;
          const envelope = event("call.completed");
          const { head, framedBody, request } = compose(envelope, { keepAlive: true });
          const sentAt = performance.now();
          await wire.write(Buffer.concat([head, framedBody]));
          const outcome = await wire.answer();
          const exchange = { eventId: envelope.id, request, outcome, durationMs: performance.now() - sentAt };
          if (isReadBack) record(exchange, { forged: false, connected: wire.connected });
          // A server may close a connection after any answer: what came too late for it goes over the next one.
          if (outcome.kind === "no_answer" && sent > 0) left += 1;
          if (outcome.kind === "no_answer" || isLastOfConnection(outcome)) break;
        }
        wire.close();
      }
    }),
  );
  return left;
}

/**
 * A second event about an object is handled, although the first was. The first may then be gone: a receiver that keeps one
 * effect an object is right too.
 */
function twoOfOneObject(firstType: EventType, secondType: EventType): Check["run"] {
  return async (context) => {
    const { event, later, handledNow, waitUntil, timing } = context;
    const first = event(firstType);
    const before = await attempts(context, first);
    const seen = await waitUntil(async () => isHandled(await handledNow(first.id)), timing.promptMs);
    const after = await attempts(context, later(first, secondType));
    return whenSettled((handled) =>
      every(handledTimes(handled, after, ONCE), handledTimes(handled, before, seen ? AT_MOST_ONCE : ONCE)),
    );
  };
}

function countOf(reading: Reading): number {
  return reading.known ? reading.count : 0;
}
