import { EVENT_TYPES } from "../../../shared/events.ts";
import { attempts } from "../attempts.ts";
import type { Check, HandledCounts, Verdict } from "../check.ts";
import { type Exchange, isAcknowledged } from "../delivery.ts";
import { every, handledTimes } from "../judge.ts";
import { RULES } from "../rules.ts";
import { AT_MOST_ONCE, effect, HANDLE_HINT, isHandled, NEVER, ONCE, ONCE_HINT } from "./effect.ts";

const FORGED_HINT = "Verify before you store, and keep nothing of what fails: not the event, and not its id.";

/** What must never be handled, what must be handled soon, and the ledger of the whole run. */
export const effectChecks: Check[] = [
  effect(
    {
      name: "after-forgery",
      title: "handles an event although a forged one bore its id before",
      spec: RULES.forged,
      hint: FORGED_HINT,
    },
    async (context) => {
      const envelope = context.event("order.created");
      const forged = await context.deliver(envelope, { secret: "not-the-secret", forged: true });
      const exchanges = [...(await attempts(context, envelope)), forged];
      return (handled) => handledTimes(handled, exchanges, ONCE);
    },
  ),
  effect(
    { name: "forged", title: "never handles a forged event", spec: RULES.forged, hint: FORGED_HINT },
    async ({ deliver, event }) => {
      const exchanges = [
        await deliver(event("order.created"), { secret: "not-the-secret", forged: true }),
        await deliver(event("order.created"), { signature: [], forged: true }),
        await deliver(event("booking.created"), { ageSeconds: 3_600, forged: true }),
      ];
      return (handled) => handledTimes(handled, exchanges, NEVER);
    },
  ),
  {
    ...effect(
      {
        name: "cut-short",
        title: "never handles an event of which only half arrived",
        spec: RULES.http,
        hint: "Handle nothing before the body is complete and verified.",
      },
      async ({ deliver, event }) => {
        const exchange = await deliver(event("order.created"), {
          forged: true,
          manner: {
            note: "The connection was reset after half of the body.",
            send: async (wire, { head, framedBody }) => {
              await wire.write(Buffer.concat([head, framedBody.subarray(0, framedBody.length / 2)]));
              wire.reset();
            },
          },
        });
        return (handled) => handledTimes(handled, [exchange], NEVER);
      },
    ),
    phase: "alone",
  },
  {
    ...effect(
      { name: "burst", title: "handles each event of a burst once", spec: RULES.once, hint: HANDLE_HINT },
      async ({ deliver, event, timing }) => {
        const envelopes = Array.from({ length: timing.burst }, (_, n) =>
          event(EVENT_TYPES[n % EVENT_TYPES.length]),
        );
        const exchanges = await Promise.all(envelopes.map((envelope) => deliver(envelope)));
        // What was not acknowledged would come again; what matters here is that nothing acknowledged is missing.
        return (handled) => every(...exchanges.map((exchange) => onceIfAcknowledged(handled, exchange)));
      },
    ),
    phase: "alone",
  },
  {
    id: "effects.prompt",
    title: "handles an event within seconds",
    level: "advice",
    group: "effects",
    spec: RULES.once,
    hint: "Start on an event when it arrives, not at the next poll minutes later.",
    needs: ["observe"],
    run: async ({ deliver, event, timing, handledNow, waitUntil }) => {
      const exchange = await deliver(event("voicemail.created"));
      const handled = await waitUntil(
        async () => isHandled(await handledNow(exchange.eventId)),
        timing.promptMs,
      );
      if (handled) return { outcome: "passed" };
      return {
        outcome: "failed",
        problem: `Event ${exchange.eventId} was not handled within ${timing.promptMs} ms of its acknowledgement.`,
        exchanges: [exchange],
      };
    },
  },
  {
    ...effect(
      {
        name: "ledger",
        title: "handles every other event of the run as often as it acknowledged it",
        spec: RULES.once,
        hint: ONCE_HINT,
      },
      async ({ ledger }) => {
        return (handled) => {
          const others = ledger
            .all()
            .filter(({ checkIds, forgeryAccepted }) => !forgeryAccepted && ![...checkIds].some(judgesItsOwn));
          return every(
            ...others.map((entry) => {
              const acknowledged = entry.acknowledgedAtMs !== undefined;
              const unsure = entry.genuine ? AT_MOST_ONCE : NEVER;
              const due = entry.documented && !entry.superseded;
              const expected = acknowledged && due ? ONCE : acknowledged ? AT_MOST_ONCE : unsure;
              return handledTimes(handled, entry.exchanges, expected);
            }),
          );
        };
      },
    ),
    phase: "last",
    // It judges what the others sent.
    again: "",
  },
];

function judgesItsOwn(checkId: string): boolean {
  return /^(?:effects|crash|explore)\./.test(checkId);
}

function onceIfAcknowledged(handled: HandledCounts, exchange: Exchange): Verdict {
  return handledTimes(handled, [exchange], isAcknowledged(exchange) ? ONCE : AT_MOST_ONCE);
}
