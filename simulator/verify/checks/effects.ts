import { attempts, burst, CUT_SHORT } from "../attempts.ts";
import type { Runs } from "../check.ts";
import { isAcknowledged } from "../delivery.ts";
import type { Reading } from "../../observer/observer.ts";
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
  whenSettled,
} from "../judgement.ts";

/** What must never be handled, what must be handled soon, and the ledger of the whole run. */
export const effectRuns: Runs = {
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
    // What was not acknowledged would come again; what matters here is that nothing acknowledged is missing.
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
        outcome: "unverified",
        reason: `The receiver put event ${exchange.eventId} off, or ignores it.`,
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

function judgesItsOwn(checkId: string): boolean {
  return /^(?:effects|crash|explore|production)\./.test(checkId);
}
