import { EVENT_TYPES } from "../../../shared/events.ts";
import { MAXIMUM_ATTEMPTS } from "../../../shared/retry-policy.ts";
import type { Check, CheckContext, Handled, HandledCounts, Verdict } from "../check.ts";
import { type Exchange, isAcknowledged } from "../delivery.ts";
import { every, handledTimes, whenSettled } from "../judge.ts";
import { type Rule, RULES } from "../rules.ts";

const ONCE = { least: 1, most: 1 };
const NEVER = { least: 0, most: 0 };
const AT_MOST_ONCE = { least: 0, most: 1 };

const HANDLE_HINT =
  "Acknowledge only what is stored for good, and have something that works off what is stored.";
const ONCE_HINT =
  "Insert the id under a unique constraint in the transaction that stores the event, and handle only what was inserted.";
const FORGED_HINT = "Verify before you store, and keep nothing of what fails: not the event, and not its id.";

/** What the receiver did with the events, read back through --observe once everything has come to rest. */
export const effectChecks: Check[] = [
  effect(
    "each-type",
    "handles an event of every type once",
    RULES.once,
    HANDLE_HINT,
    async ({ deliver, event }) => {
      const exchanges = await Promise.all(EVENT_TYPES.map((type) => deliver(event(type))));
      return (handled) => handledTimes(handled, exchanges, ONCE);
    },
  ),
  effect(
    "in-sequence",
    "handles an event once that arrives six times",
    RULES.duplicates,
    ONCE_HINT,
    async ({ deliver, event }) => {
      const envelope = event("order.created");
      const exchanges: Exchange[] = [];
      for (let attempt = 1; attempt <= MAXIMUM_ATTEMPTS; attempt += 1) {
        exchanges.push(await deliver(envelope, { ageSeconds: MAXIMUM_ATTEMPTS - attempt }));
      }
      return (handled) => handledTimes(handled, exchanges, ONCE);
    },
  ),
  effect(
    "at-once",
    "handles an event once that arrives ten times at once",
    RULES.duplicates,
    ONCE_HINT,
    async ({ deliver, event }) => {
      const envelopes = [event("order.created"), event("booking.created"), event("call.completed")];
      const exchanges = await Promise.all(
        envelopes.flatMap((envelope) => Array.from({ length: 10 }, () => deliver(envelope))),
      );
      return (handled) => handledTimes(handled, exchanges, ONCE);
    },
  ),
  effect(
    "after-handling",
    "handles an event once whose duplicate comes after it was handled",
    RULES.duplicates,
    "Keep the ids of handled events: a duplicate may come hours later. Ids that are deleted with the work protect nothing.",
    async ({ deliver, event, handledNow, timing, waitUntil }) => {
      const envelope = event("booking.created");
      const exchanges = [await deliver(envelope)];
      await waitUntil(async () => isHandled(await handledNow(envelope.id)), timing.promptMs);
      exchanges.push(await deliver(envelope));
      return (handled) => handledTimes(handled, exchanges, ONCE);
    },
  ),
  {
    ...effect(
      "after-many-others",
      "handles an event once whose duplicate comes after many others",
      RULES.duplicates,
      "Remember ids in the database for as long as retries may come (14 h 36 min and more), not in a list of the latest.",
      async ({ deliver, event, timing }) => {
        const envelope = event("order.created");
        const exchanges = [await deliver(envelope)];
        for (let sent = 0; sent < timing.manyOthers; sent += 10) {
          await Promise.all(Array.from({ length: 10 }, () => deliver(event("call.completed"))));
        }
        exchanges.push(await deliver(envelope));
        return (handled) => handledTimes(handled, exchanges, ONCE);
      },
    ),
    phase: "alone",
  },
  {
    ...effect(
      "lost-answer",
      "handles an event once whose first answer was lost",
      RULES.duplicates,
      ONCE_HINT,
      async ({ deliver, event }) => {
        const envelope = event("order.created");
        const lost = await deliver(envelope, {
          manner: {
            note: "The connection was cut right after the request.",
            send: async (wire, { head, framedBody }) => {
              await wire.write(Buffer.concat([head, framedBody]));
              wire.reset();
            },
          },
        });
        const exchanges = [lost, await deliver(envelope)];
        return (handled) => handledTimes(handled, exchanges, ONCE);
      },
    ),
    phase: "alone",
  },
  effect(
    "reserialized-retry",
    "handles an event once whose retry is written differently",
    RULES.duplicates,
    "De-duplicate by id, not by a hash of the body.",
    async ({ deliver, event }) => {
      const envelope = event("order.created");
      const again = Buffer.from(JSON.stringify(envelope, null, 2));
      const exchanges = [await deliver(envelope), await deliver(again)];
      return (handled) => handledTimes(handled, exchanges, ONCE);
    },
  ),
  effect(
    "same-call-two-types",
    "handles both events of one call",
    RULES.types,
    "call.completed and call.transferred of one call are two events: de-duplicate by event id, not by call id.",
    async ({ deliver, event }) => {
      const transferred = event("call.transferred");
      const completed = event("call.completed", transferred.data.object);
      const exchanges = [await deliver(transferred), await deliver(completed)];
      return (handled) => handledTimes(handled, exchanges, ONCE);
    },
  ),
  effect(
    "distinct-ids",
    "handles two events about one object",
    RULES.duplicates,
    "De-duplicate by event id, not by the object's id.",
    async ({ deliver, event }) => {
      const first = event("voicemail.created");
      const exchanges = [await deliver(first), await deliver(event("voicemail.created", first.data.object))];
      return (handled) => handledTimes(handled, exchanges, ONCE);
    },
  ),
  effect(
    "after-forgery",
    "handles an event although a forged one bore its id before",
    RULES.forged,
    FORGED_HINT,
    async ({ deliver, event }) => {
      const envelope = event("order.created");
      const forged = await deliver(envelope, { secret: "not-the-secret", forged: true });
      const exchanges = [await deliver(envelope), forged];
      return (handled) => handledTimes(handled, exchanges, ONCE);
    },
  ),
  effect("forged", "never handles a forged event", RULES.forged, FORGED_HINT, async ({ deliver, event }) => {
    const exchanges = [
      await deliver(event("order.created"), { secret: "not-the-secret", forged: true }),
      await deliver(event("order.created"), { signature: () => [], forged: true }),
      await deliver(event("booking.created"), { ageSeconds: 3_600, forged: true }),
    ];
    return (handled) => handledTimes(handled, exchanges, NEVER);
  }),
  {
    ...effect(
      "cut-short",
      "never handles an event of which only half arrived",
      RULES.http,
      "Handle nothing before the body is complete and verified.",
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
      "burst",
      "handles each event of a burst once",
      RULES.once,
      HANDLE_HINT,
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
    level: "should",
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
      "ledger",
      "handles every other event of the run as often as it acknowledged it",
      RULES.once,
      ONCE_HINT,
      async ({ ledger }) => {
        return (handled) => {
          const others = ledger
            .all()
            .filter(({ checkIds, forgeryAccepted }) => !forgeryAccepted && ![...checkIds].some(judgesItsOwn));
          return every(
            ...others.map((entry) => {
              const acknowledged = entry.acknowledgedAtMs !== undefined;
              const unsure = entry.genuine ? AT_MOST_ONCE : NEVER;
              const expected = acknowledged && entry.documented ? ONCE : acknowledged ? AT_MOST_ONCE : unsure;
              return handledTimes(handled, entry.exchanges, expected);
            }),
          );
        };
      },
    ),
    phase: "last",
  },
];

/** A check that sends something and judges, when all has come to rest, how often it was handled. */
function effect(
  name: string,
  title: string,
  spec: Rule,
  hint: string,
  send: (context: CheckContext) => Promise<(handled: HandledCounts) => Verdict>,
): Check {
  return {
    id: `effects.${name}`,
    title,
    level: "must",
    group: "effects",
    spec,
    hint,
    needs: ["observe"],
    run: async (context) => whenSettled(await send(context)),
  };
}

function judgesItsOwn(checkId: string): boolean {
  return /^(?:effects|crash|explore)\./.test(checkId);
}

function isHandled(reading: Handled): boolean {
  return reading.known && reading.count > 0;
}

function onceIfAcknowledged(handled: HandledCounts, exchange: Exchange): Verdict {
  return handledTimes(handled, [exchange], isAcknowledged(exchange) ? ONCE : AT_MOST_ONCE);
}
