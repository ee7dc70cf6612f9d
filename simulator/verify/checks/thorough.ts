import type { Check } from "../check.ts";
import { isAcknowledged } from "../delivery.ts";
import { allAcknowledged, checksOf, every, handledTimes, isHandled, ONCE, whenSettled } from "../judge.ts";
import { whenReady } from "../attempts.ts";
import { RULES } from "../rules.ts";
import { SCHEDULE_SECONDS } from "../../../shared/retry-policy.ts";

const usual = {
  spec: RULES.retries,
  hint: "Keep ids for longer than retries may come, a few days at least; a time-to-live of minutes or hours forgets too soon.",
};

/** Takes too long, or needs too much of a receiver, for every run: only with `--thorough`. */
export const thoroughChecks: Check[] = checksOf("effects", usual, {
  "after-whole-schedule": {
    title: "handles an event once whose last attempt comes 14 h 36 min after the first",
    thorough: true,
    phase: "crash",
    needs: ["observe", "command", "clock"],
    run: async ({ deliver, event, handledNow, moveClock, receiver, timing, waitUntil }) => {
      const envelope = event("order.created");
      const exchanges = [await deliver(envelope)];
      const seen = await waitUntil(async () => isHandled(await handledNow(envelope.id)), timing.settleMs);
      if (!seen) return { outcome: "unverified", reason: `Event ${envelope.id} was not handled in time.` };
      await receiver?.stop();
      const moved = await moveClock(SCHEDULE_SECONDS);
      if (!moved.ok) {
        return { outcome: "failed", problem: `It did not start again: ${moved.message}`, exchanges };
      }
      const note = "With the clock of the receiver moved ahead.";
      const present = await whenReady(timing, () =>
        deliver(event("booking.created"), { forged: true, note }),
      );
      if (isAcknowledged(present)) {
        await receiver?.restart();
        const reason =
          "Its clock did not move: it still takes what is signed now. Does it read the variable of --clock-variable?";
        return { outcome: "unverified", reason };
      }
      const options = { ageSeconds: -SCHEDULE_SECONDS, note };
      exchanges.push(await whenReady(timing, () => deliver(envelope, options)));
      await waitUntil(async () => {
        const reading = await handledNow(envelope.id);
        return reading.known && reading.count > 1;
      }, timing.restMs);
      // Back to the present, for whatever comes after this.
      await receiver?.restart();
      return whenSettled((handled) =>
        every(allAcknowledged(exchanges), handledTimes(handled, exchanges, ONCE)),
      );
    },
  },
});
