import { attempts, burst } from "../attempts.ts";
import type { Check } from "../check.ts";
import { isAcknowledged } from "../delivery.ts";
import {
  AT_MOST_ONCE,
  checksOf,
  every,
  handledSo,
  handledTimes,
  isHandled,
  NEVER,
  ONCE,
  whenSettled,
} from "../judge.ts";
import { RULES } from "../rules.ts";
import { HANDLE_HINT, ONCE_HINT } from "./effects-once.ts";

const FORGED = {
  spec: RULES.forged,
  hint: "Verify before you store, and keep nothing of what fails: not the event, and not its id.",
};

const usual: Pick<Check, "spec" | "hint" | "needs"> = {
  spec: RULES.once,
  hint: HANDLE_HINT,
  needs: ["observe"],
};

/** What must never be handled, what must be handled soon, and the ledger of the whole run. */
export const effectChecks: Check[] = checksOf("effects", usual, {
  "after-forgery": {
    title: "handles an event although a forged one bore its id before",
    ...FORGED,
    run: handledSo(ONCE, async (context) => {
      const envelope = context.event("order.created");
      const forged = await context.deliver(envelope, { secret: "not-the-secret", forged: true });
      return [...(await attempts(context, envelope)), forged];
    }),
  },
  forged: {
    title: "never handles a forged event",
    ...FORGED,
    run: handledSo(NEVER, async ({ deliver, event }) => [
      await deliver(event("order.created"), { secret: "not-the-secret", forged: true }),
      await deliver(event("order.created"), { signature: [], forged: true }),
      await deliver(event("booking.created"), { ageSeconds: 3_600, forged: true }),
    ]),
  },
  "cut-short": {
    title: "never handles an event of which only half arrived",
    spec: RULES.http,
    hint: "Handle nothing before the body is complete and verified.",
    phase: "alone",
    run: handledSo(NEVER, ({ deliver, event }) =>
      deliver(event("order.created"), {
        forged: true,
        manner: {
          note: "The connection was reset after half of the body.",
          send: async (wire, { head, framedBody }) => {
            await wire.write(Buffer.concat([head, framedBody.subarray(0, framedBody.length / 2)]));
            wire.reset();
          },
        },
      }),
    ),
  },
  burst: {
    title: "handles each event of a burst once",
    phase: "alone",
    run: async (context) => {
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
  },
  prompt: {
    title: "handles an event within seconds",
    level: "advice",
    hint: "Start on an event when it arrives, not at the next poll minutes later.",
    run: async ({ deliver, event, timing: { promptMs }, handledNow, waitUntil }) => {
      const exchange = await deliver(event("voicemail.created"));
      if (await waitUntil(async () => isHandled(await handledNow(exchange.eventId)), promptMs))
        return { outcome: "passed" };
      const problem = `Event ${exchange.eventId} was not handled within ${promptMs} ms of its acknowledgement.`;
      return { outcome: "failed", problem, exchanges: [exchange] };
    },
  },
  ledger: {
    title: "handles every other event of the run as often as it acknowledged it",
    hint: ONCE_HINT,
    phase: "last",
    // It judges what the others sent.
    again: "",
    run: async ({ ledger }) =>
      whenSettled((handled) => {
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
      }),
  },
});

function judgesItsOwn(checkId: string): boolean {
  return /^(?:effects|crash|explore)\./.test(checkId);
}
