import { type EventType, EVENT_TYPES } from "../../../shared/events.ts";
import type { Check, CheckContext, Handled, Named } from "../check.ts";
import { ANSWER_LOST, attempts, attemptsAfter, sixInARow } from "../attempts.ts";
import { every, handledTimes } from "../judge.ts";
import { RULES } from "../rules.ts";
import { AT_MOST_ONCE, effect, HANDLE_HINT, isHandled, ONCE, ONCE_HINT } from "./effect.ts";

const LANES = 8;
const EVENTS_A_CONNECTION = 20;

/** Genuine events are handled once, however often and in whatever form they arrive. */
export const onceEffectChecks: Check[] = [
  effect(
    { name: "each-type", title: "handles an event of every type once", spec: RULES.once, hint: HANDLE_HINT },
    async (context) => {
      const exchanges = await Promise.all(
        EVENT_TYPES.map(async (type) => attempts(context, context.event(type))),
      );
      return (handled) => handledTimes(handled, exchanges.flat(), ONCE);
    },
  ),
  effect(
    {
      name: "in-sequence",
      title: "handles an event once that arrives six times",
      spec: RULES.duplicates,
      hint: ONCE_HINT,
    },
    async (context) => {
      const exchanges = await sixInARow(context, context.event("order.created"));
      return (handled) => handledTimes(handled, exchanges, ONCE);
    },
  ),
  effect(
    {
      name: "at-once",
      title: "handles an event once that arrives ten times at once",
      spec: RULES.duplicates,
      hint: ONCE_HINT,
    },
    async ({ deliver, event }) => {
      const envelopes = [event("order.created"), event("booking.created"), event("call.completed")];
      const exchanges = await Promise.all(
        envelopes.flatMap((envelope) => Array.from({ length: 10 }, () => deliver(envelope))),
      );
      return (handled) => handledTimes(handled, exchanges, ONCE);
    },
  ),
  effect(
    {
      name: "after-handling",
      title: "handles an event once whose duplicate comes after it was handled",
      spec: RULES.duplicates,
      hint: "Keep the ids of handled events: a duplicate may come hours later. Ids that are deleted with the work protect nothing.",
    },
    async ({ deliver, event, handledNow, timing, waitUntil }) => {
      const envelope = event("booking.created");
      const exchanges = [await deliver(envelope)];
      const seen = await waitUntil(async () => isHandled(await handledNow(envelope.id)), timing.promptMs);
      exchanges.push(await deliver(envelope));
      return (handled) => {
        const verdict = handledTimes(handled, exchanges, ONCE);
        if (seen || verdict.outcome !== "passed") return verdict;
        return {
          outcome: "unverified",
          reason: `Event ${envelope.id} was not handled within ${timing.promptMs / 1_000} s. How long may it take? Say --effects-within SECONDS.`,
        };
      };
    },
  ),
  {
    ...effect(
      {
        name: "after-many-others",
        title: "handles an event once whose duplicate comes after many others",
        spec: RULES.duplicates,
        hint: "Remember ids in the database for as long as retries may come (14 h 36 min and more), not in a list of the latest.",
      },
      async (context) => {
        const { deliver, event, timing } = context;
        const envelope = event("order.created");
        const exchanges = [await deliver(envelope)];
        await sendOthers(context, timing.manyOthers);
        exchanges.push(await deliver(envelope));
        return (handled) => handledTimes(handled, exchanges, ONCE);
      },
    ),
    phase: "alone",
  },
  {
    ...effect(
      {
        name: "lost-answer",
        title: "handles an event once whose first answer was lost",
        spec: RULES.duplicates,
        hint: ONCE_HINT,
      },
      async (context) => {
        const exchanges = await attemptsAfter(context, context.event("order.created"), ANSWER_LOST);
        return (handled) => handledTimes(handled, exchanges, ONCE);
      },
    ),
    phase: "alone",
  },
  effect(
    {
      name: "reserialized-retry",
      title: "handles an event once whose retry is written differently",
      spec: RULES.duplicates,
      hint: "De-duplicate by id, not by a hash of the body.",
    },
    async (context) => {
      const envelope = context.event("order.created");
      const again = Buffer.from(JSON.stringify(envelope, null, 2));
      const exchanges = [...(await attempts(context, envelope)), ...(await attempts(context, again))];
      return (handled) => handledTimes(handled, exchanges, ONCE);
    },
  ),
  {
    ...twoOfOneObject(
      {
        name: "same-call-two-types",
        title: "handles both events of one call",
        spec: RULES.types,
        hint: "call.completed and call.transferred of one call are two events: de-duplicate by event id, not by call id.",
      },
      ["call.transferred", "call.completed"],
    ),
    about: ["call.transferred", "call.completed"],
  },
  twoOfOneObject(
    {
      name: "distinct-ids",
      title: "handles two events about one object",
      spec: RULES.duplicates,
      hint: "De-duplicate by event id, not by the object's id.",
    },
    ["voicemail.created", "voicemail.created"],
  ),
  effect(
    {
      name: "id-case",
      title: "handles events once whose ids differ in the case of their digits alone",
      spec: RULES.duplicates,
      hint: "Whether they are one event or two is not stated; compare ids in one way everywhere, and handle neither twice.",
    },
    async ({ deliver, event, ledger, timing }) => {
      const lower = event("order.created");
      const upper = { ...lower, id: `evt_${lower.id.slice("evt_".length).toUpperCase()}` };
      ledger.superseded(upper.id);
      const exchanges = [
        ...(await attempts({ deliver, timing }, lower)),
        ...(await attempts({ deliver, timing }, upper)),
      ];
      return (handled) => {
        const counted = handledTimes(handled, exchanges, AT_MOST_ONCE);
        if (counted.outcome !== "passed") return counted;
        const counts = [lower.id, upper.id].map((id) => countOf(handled.of(id)));
        if (!counts.includes(1)) return handledTimes(handled, exchanges, ONCE);
        const found = counts.includes(0) ? "one event" : "two events, or looks up ids whatever their case";
        return { outcome: "passed", note: `It takes ids that differ in case alone for ${found}.` };
      };
    },
  ),
];

/**
 * Sends so many ordinary events, some over each connection, to fill whatever remembers ids. What becomes of each is
 * judged elsewhere.
 */
async function sendOthers({ compose, event, open }: CheckContext, count: number): Promise<void> {
  let left = count;
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      while (left > 0) {
        const wire = await open();
        for (let sent = 0; sent < EVENTS_A_CONNECTION && left > 0; sent += 1) {
          left -= 1;
          const { head, framedBody } = compose(event("call.completed"), { keepAlive: true });
          await wire.write(Buffer.concat([head, framedBody]));
          const outcome = await wire.answer();
          // A server may close a connection after any answer: what came too late for it goes over the next one.
          if (outcome.kind === "no_answer" && sent > 0) left += 1;
          if (outcome.kind === "no_answer" || outcome.headers.some(isClose)) break;
        }
        wire.close();
      }
    }),
  );
}

function isClose([name, value]: [string, string]): boolean {
  return name.toLowerCase() === "connection" && value.toLowerCase() === "close";
}

/**
 * A check that a second event about an object is handled, although the first was. The first may then be gone: a receiver
 * that keeps one effect an object is right too.
 */
function twoOfOneObject(
  about: Named<"title" | "spec" | "hint">,
  [firstType, secondType]: [EventType, EventType],
): Check {
  return effect(about, async (context) => {
    const { event, later, handledNow, waitUntil, timing } = context;
    const first = event(firstType);
    const before = await attempts(context, first);
    const seen = await waitUntil(async () => isHandled(await handledNow(first.id)), timing.promptMs);
    const after = await attempts(context, later(first, secondType));
    return (handled) =>
      every(handledTimes(handled, after, ONCE), handledTimes(handled, before, seen ? AT_MOST_ONCE : ONCE));
  });
}

function countOf(reading: Handled): number {
  return reading.known ? reading.count : 0;
}
