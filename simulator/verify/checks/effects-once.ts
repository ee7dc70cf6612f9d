import { type EventType, EVENT_TYPES } from "../../../shared/events.ts";
import type { Check, Runs } from "../check.ts";
import type { CheckContext } from "../context.ts";
import { ANSWER_LOST, attempts, attemptsAfter, sixInARow } from "../attempts.ts";
import { sideBySide } from "../side-by-side.ts";
import { AT_MOST_ONCE, every, handledSo, handledTimes, isAtRest, ONCE, whenSettled } from "../judgement.ts";

/** Others go out in portions, the first a small one, and a portion's last event has to be handled before the next. */
const PORTION = 105;
const FIRST_PORTION = 20;
const LANES = 8;

/** Genuine events are handled once, however often and in whatever form they arrive. */
export const effectOnceRuns: Runs = {
  "effects.each-type": handledSo(ONCE, async (context) => {
    const sent = EVENT_TYPES.map((type) => attempts(context, context.event(type)));
    return (await Promise.all(sent)).flat();
  }),
  "effects.in-sequence": handledSo(ONCE, (context) => sixInARow(context, context.event("order.created"))),
  "effects.at-once": handledSo(ONCE, ({ deliver, event }) => {
    const envelopes = [event("order.created"), event("booking.created"), event("call.completed")];
    return Promise.all(envelopes.flatMap((envelope) => Array.from({ length: 10 }, () => deliver(envelope))));
  }),
  "effects.after-handling": async ({ deliver, event, handledNow, timing, waitUntil }) => {
    const envelope = event("booking.created");
    const exchanges = [await deliver(envelope)];
    const seen = await waitUntil(async () => isAtRest(await handledNow(envelope.id)), timing.promptMs);
    exchanges.push(await deliver(envelope));
    return whenSettled((handled) => {
      const verdict = handledTimes(handled, exchanges, ONCE);
      if (seen || verdict.outcome !== "passed") return verdict;
      const reason = `Event ${envelope.id} was not handled within ${timing.promptMs / 1_000} s. How long may it take? Say --effects-within SECONDS.`;
      return { outcome: "unverified", reason };
    });
  },
  "effects.after-many-others": async (context) => {
    const envelope = context.event("order.created");
    const exchanges = [await context.deliver(envelope)];
    const { manyOthers } = context.timing;
    const sent = await sendOthers(context, manyOthers);
    exchanges.push(await context.deliver(envelope));
    return whenSettled((handled) => {
      const verdict = handledTimes(handled, exchanges, ONCE);
      if (sent === manyOthers || verdict.outcome !== "passed") return verdict;
      const note = `After ${sent} others: there was no time for ${manyOthers}, which --thorough takes.`;
      return sent < manyOthers / 10 ? { outcome: "unverified", reason: note } : { ...verdict, note };
    });
  },
  "effects.lost-answer": handledSo(ONCE, (context) =>
    attemptsAfter(context, context.event("order.created"), ANSWER_LOST),
  ),
  "effects.reserialized-retry": handledSo(ONCE, async (context) => {
    const envelope = context.event("order.created");
    const again = Buffer.from(JSON.stringify(envelope, null, 2));
    return [...(await attempts(context, envelope)), ...(await attempts(context, again))];
  }),
  "effects.same-call-two-types": {
    about: ["call.transferred", "call.completed"],
    run: twoOfOneObject("call.transferred", "call.completed"),
  },
  "effects.distinct-ids": twoOfOneObject("voicemail.created", "voicemail.created"),
};

/** Sends `count` ordinary events to fill whatever remembers ids, or as many as there is time for; returns how many. */
async function sendOthers(context: CheckContext, count: number): Promise<number> {
  const { deliver, event, handledNow, ledger, waitUntil, timing } = context;
  const dueAt = performance.now() + timing.manyOthersMs;
  let left = count;
  for (let portion = FIRST_PORTION; left > 0 && performance.now() < dueAt; portion = PORTION) {
    const envelopes = Array.from({ length: Math.min(portion, left) }, () => event("call.completed"));
    left -= envelopes.length;
    const last = envelopes.at(-1)?.id ?? "";
    for (const { id } of envelopes) if (id !== last) ledger.unread(id);
    await sideBySide(LANES, envelopes, (envelope) => deliver(envelope));
    const leftMs = Math.max(0, dueAt - performance.now());
    await waitUntil(async () => isAtRest(await handledNow(last)), leftMs);
  }
  return count - left;
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
    const seen = await waitUntil(async () => isAtRest(await handledNow(first.id)), timing.promptMs);
    const after = await attempts(context, later(first, secondType));
    return whenSettled((handled) =>
      every(handledTimes(handled, after, ONCE), handledTimes(handled, before, seen ? AT_MOST_ONCE : ONCE)),
    );
  };
}
