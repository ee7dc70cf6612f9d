import { setTimeout as sleep } from "node:timers/promises";
import type { Check, CheckContext, HandledCounts, Verdict } from "../check.ts";
import { type Exchange, isAcknowledged } from "../delivery.ts";
import { allAcknowledged, every, handledTimes, whenSettled } from "../judge.ts";
import { RULES } from "../rules.ts";

const ONCE = { least: 1, most: 1 };
const STORE_HINT =
  "Commit the event to disk, and sync it, before the 2xx goes out; at start-up, take up what was stored but not handled.";
const KEEP_IDS_HINT =
  "Keep ids where a crash cannot reach them, and mark an event as handled in the transaction that holds its effect.";

/** What is left of acknowledged events when the process is killed; the command form only. */
export const crashChecks: Check[] = [
  {
    ...crash(
      "restarts",
      "comes back after kill -9 and acknowledges again",
      STORE_HINT,
      async ({ deliver, event }) => {
        const exchange = await deliver(event());
        return () => allAcknowledged([exchange]);
      },
    ),
    needs: ["command"],
  },
  crash(
    "acknowledged-survives",
    "handles an event that it acknowledged right before kill -9",
    STORE_HINT,
    async (_, before) => judgedOnce(before),
    async ({ deliver, event }) => [await deliver(event("order.created"))],
  ),
  crash(
    "duplicate-after-restart",
    "handles an event once whose duplicate comes after kill -9 and restart",
    KEEP_IDS_HINT,
    async ({ deliver }, [before]) => {
      // A retry with the same id: the sender's side of it cannot know that the receiver was killed in between.
      const again = before === undefined ? [] : [await deliver(before.request.body)];
      return judgedOnce([...(before === undefined ? [] : [before]), ...again]);
    },
    async ({ deliver, event }) => [await deliver(event("booking.created"))],
  ),
  crash(
    "handled-before",
    "does not handle an event again that it had handled before kill -9",
    KEEP_IDS_HINT,
    async ({ deliver }, before) => {
      const again = await Promise.all(before.map(({ request }) => deliver(request.body)));
      return judgedOnce([...before, ...again]);
    },
    async ({ deliver, event, handledNow, waitUntil, timing }) => {
      const exchange = await deliver(event("order.created"));
      await waitUntil(async () => {
        const reading = await handledNow(exchange.eventId);
        return reading.known && reading.count > 0;
      }, timing.settleMs);
      return [exchange];
    },
  ),
  crash(
    "burst",
    "handles each event of a burst once that kill -9 interrupted",
    STORE_HINT,
    async ({ deliver }, before) => {
      const lost = before.filter((exchange) => !isAcknowledged(exchange));
      const retried = await Promise.all(lost.map(({ request }) => deliver(request.body)));
      return (handled) =>
        every(allAcknowledged(retried), handledTimes(handled, [...before, ...retried], ONCE));
    },
    async ({ deliver, event, receiver, timing }) => {
      const envelopes = Array.from({ length: timing.burst }, () => event("order.created"));
      let acknowledged = 0;
      return Promise.all(
        envelopes.map(async (envelope) => {
          const exchange = await deliver(envelope);
          if (isAcknowledged(exchange)) acknowledged += 1;
          // In the midst of it, not after it: some were answered, some are being stored, some have not arrived.
          if (acknowledged === Math.ceil(timing.burst / 3)) await receiver?.kill();
          return exchange;
        }),
      );
    },
  ),
  {
    ...crash(
      "terminated",
      "handles an event that it acknowledged right before SIGTERM",
      "On SIGTERM finish what is being answered, and leave the rest stored for the next start.",
      async (_, before) => judgedOnce(before),
      async ({ deliver, event, receiver }) => {
        const exchange = await deliver(event("order.created"));
        await receiver?.stop();
        return [exchange];
      },
    ),
  },
];

/** A check that runs `before`, kills the receiver, starts it again, runs `after` and judges when all is at rest. */
function crash(
  name: string,
  title: string,
  hint: string,
  after: (context: CheckContext, before: Exchange[]) => Promise<(handled: HandledCounts) => Verdict>,
  before: (context: CheckContext) => Promise<Exchange[]> = async () => [],
): Check {
  const check: Check = {
    id: `crash.${name}`,
    title,
    level: "must",
    group: "crash",
    spec: RULES.once,
    hint,
    phase: "crash",
    needs: ["command", "observe"],
    run: async (context) => {
      const { receiver } = context;
      if (receiver === undefined)
        return { outcome: "unverified", reason: "The receiver's process is not ours to kill." };
      const sent = await before(context);
      await receiver.kill();
      const restarted = await receiver.restart();
      if (!restarted.ok) {
        return {
          outcome: "failed",
          problem: `It did not start again: ${restarted.message}`,
          exchanges: sent,
        };
      }
      const judge = await after(context, sent);
      await comeToRest(context, check.id);
      return whenSettled(judge);
    },
  };
  return check;
}

/** Gives the receiver a moment before the next kill, so that a second handling is not cut off unseen. */
async function comeToRest(
  { ledger, handledNow, waitUntil, timing }: CheckContext,
  checkId: string,
): Promise<void> {
  const mine = ledger.all().filter(({ checkIds }) => checkIds.has(checkId));
  await waitUntil(async () => {
    const readings = await Promise.all(mine.map(({ eventId }) => handledNow(eventId)));
    return readings.every((reading) => !reading.known || reading.count > 0);
  }, timing.promptMs);
  await sleep(timing.restMs);
}

async function judgedOnce(exchanges: Exchange[]): Promise<(handled: HandledCounts) => Verdict> {
  return (handled) => every(allAcknowledged(exchanges), handledTimes(handled, exchanges, ONCE));
}
