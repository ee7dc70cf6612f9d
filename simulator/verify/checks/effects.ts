import { EVENT_TYPES, type EventType } from "../../../shared/events.ts";
import type { Reading } from "../../observer/observer.ts";
import { ANSWER_LOST, attempts, attemptsAfter, burst, CUT_SHORT, sixInARow } from "../attempts.ts";
import type { Check, Runs } from "../check.ts";
import type { CheckContext } from "../context.ts";
import { isAcknowledged } from "../delivery.ts";
import {
  AT_MOST_ONCE,
  every,
  failed,
  handledSo,
  handledTimes,
  isAtRest,
  isHandled,
  NEVER,
  ONCE,
  unverified,
  whenSettled,
} from "../judgement.ts";
import { sideBySide } from "../side-by-side.ts";

/** Other events are sent in portions, the first a small one; the last event of a portion must be handled before the next. */
const PORTION = 105;
const FIRST_PORTION = 20;
const LANES = 8;

/** Genuine events are handled once and soon, forged ones never; and the ledger of the whole run. */
export const effectRuns: Runs = {
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
      return unverified(
        `Event ${envelope.id} was not handled within ${timing.promptMs / 1_000} s. If it may take longer, give --effects-within SECONDS.`,
      );
    });
  },
  "effects.after-many-others": async (context) => {
    const { ledger, timing } = context;
    // All events since the first one of the run count as others.
    const [first, ...others] = ledger.all().filter(({ acknowledged }) => acknowledged);
    const [exchange] = first?.exchanges.filter(isAcknowledged) ?? [];
    if (exchange === undefined) return unverified("No event was acknowledged.");
    const sent = others.length + (await sendOthers(context, timing.manyOthers - others.length));
    const exchanges = [exchange, await context.deliver(exchange.request.body)];
    return whenSettled((handled) => {
      const verdict = handledTimes(handled, exchanges, ONCE);
      if (sent >= timing.manyOthers || verdict.outcome !== "passed") return verdict;
      const note = `After ${sent} others: there was no time for ${timing.manyOthers}, as with --thorough.`;
      return sent < timing.manyOthers / 10 ? unverified(note) : { ...verdict, note };
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
  "effects.after-forgery": handledSo(ONCE, async (context) => {
    const envelope = context.event("order.created");
    const forged = await context.deliver(envelope, { secret: "not-the-secret", forged: true });
    return [...(await attempts(context, envelope)), forged];
  }),
  "effects.forged": handledSo(NEVER, async ({ deliver, event }) => [
    await deliver(event("order.created"), { secret: "not-the-secret", forged: true }),
    await deliver(event("order.created"), { signature: [], forged: true }),
    await deliver(event("booking.created"), { ageSeconds: 3_600, forged: true }),
  ]),
  "effects.cut-short": handledSo(NEVER, ({ deliver, event }) => deliver(event("order.created"), CUT_SHORT)),
  "effects.burst": async (context) => {
    const exchanges = await Promise.all(burst(context).map((envelope) => context.deliver(envelope)));
    // Deliveries without an acknowledgement would be sent again; the check is that no acknowledged event is missing.
    return whenSettled((handled) =>
      every(
        ...exchanges.map((exchange) =>
          handledTimes(handled, [exchange], isAcknowledged(exchange) ? ONCE : AT_MOST_ONCE),
        ),
      ),
    );
  },
  "effects.prompt": async ({ deliver, event, timing: { promptMs }, handledNow, waitUntil }) => {
    const exchange = await deliver(event("voicemail.created"));
    let last: Reading | undefined;
    await waitUntil(async () => isAtRest((last = await handledNow(exchange.eventId))), promptMs);
    if (last !== undefined && isHandled(last)) return { outcome: "passed" };
    if (last !== undefined && isAtRest(last))
      return {
        ...unverified(`The receiver deferred or ignores event ${exchange.eventId}.`),
        isDeferred: last.known && last.deferredUntil !== undefined,
      };
    const problem = `Event ${exchange.eventId} was not handled within ${promptMs} ms of its acknowledgement.`;
    return failed("handled_late", problem, [exchange]);
  },
  "effects.ledger": {
    // It judges what the others sent.
    again: "",
    run: async ({ ledger }) =>
      whenSettled((handled) => {
        const others = ledger
          .all()
          .filter(({ checkIds, forgeryAccepted }) => !forgeryAccepted && ![...checkIds].some(judgesItsOwn));
        return every(
          ...others.map((entry) => {
            const unsure = entry.genuine ? AT_MOST_ONCE : NEVER;
            const due = entry.documented && !entry.superseded;
            const expected = entry.acknowledged ? (due ? ONCE : AT_MOST_ONCE) : unsure;
            return handledTimes(handled, entry.exchanges, expected);
          }),
        );
      }),
  },
};

/** Sends `count` ordinary events to fill the receiver's memory of ids, or as many as time allows; returns how many. */
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

function judgesItsOwn(checkId: string): boolean {
  return /^(?:effects|crash|production)\./.test(checkId);
}
