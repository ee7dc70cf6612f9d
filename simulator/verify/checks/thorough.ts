import type { Runs } from "../check.ts";
import { isAcknowledged } from "../delivery.ts";
import { allAcknowledged, every, failed, handledTimes, isHandled, ONCE, whenSettled } from "../judgement.ts";
import { whenReady } from "../attempts.ts";
import { SCHEDULE_SECONDS } from "../../domain/retry-policy.ts";

/** Takes too long, or needs too much of a receiver, for every run: only with `--thorough`. */
export const thoroughRuns: Runs = {
  "effects.after-whole-schedule": {
    only: "thorough",
    run: async ({ deliver, event, handledNow, moveClock, receiver, timing, waitUntil }) => {
      const envelope = event("order.created");
      const exchanges = [await deliver(envelope)];
      const seen = await waitUntil(async () => isHandled(await handledNow(envelope.id)), timing.settleMs);
      if (!seen) return { outcome: "unverified", reason: `Event ${envelope.id} was not handled in time.` };
      await receiver?.stop();
      const moved = await moveClock(SCHEDULE_SECONDS);
      if (!moved.ok) {
        return failed("not_restarted", `It did not start again: ${moved.message}`, exchanges);
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
      }, timing.quietMs);
      // Back to the present, for whatever comes after this.
      await receiver?.restart();
      return whenSettled((handled) =>
        every(allAcknowledged(exchanges), handledTimes(handled, exchanges, ONCE)),
      );
    },
  },
};
