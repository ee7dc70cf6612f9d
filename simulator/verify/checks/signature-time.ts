import { header, moment, type Part, T, V1 } from "../../signature-recipe/recipe.ts";
import type { Check } from "../check.ts";
import { allAcknowledged, allRefused, checksOf, refused } from "../judge.ts";
import { RULES } from "../rules.ts";

/** How well the offset of the receiver's clock has to be known for an exact limit to be met. */
const OFFSET_DECIDABLE_SECONDS = 0.25;

const NOW = moment(0);
const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;
const NUMBER_HINT =
  "Take t for a number only when it is digits and nothing else: NaN is not greater than 300, so a lenient parser lets it through.";

const usual = {
  spec: RULES.tolerance,
  hint: "Refuse when |now − t| is more than 300 in whole seconds, on either side; exactly 300 is still inside.",
};

/** Whether t is held against the clock, on both sides, to the second. */
export const signatureTimeChecks: Check[] = checksOf("signature", usual, {
  "past-299": { title: "accepts a delivery signed 299 s ago", ...atLimit(299, allAcknowledged) },
  // A clock that is read with fractions is past 300 s within the same second, so the two at 300 s ask for whole seconds.
  "past-300": {
    title: "accepts a delivery signed exactly 300 s ago",
    level: "advice",
    ...atLimit(300, allAcknowledged),
  },
  "past-301": { title: "refuses a delivery signed 301 s ago", ...atLimit(301, allRefused) },
  "future-299": { title: "accepts a t 299 s ahead of the clock", ...atLimit(-299, allAcknowledged) },
  "future-300": {
    title: "accepts a t exactly 300 s ahead of the clock",
    level: "advice",
    ...atLimit(-300, allAcknowledged),
  },
  "future-301": { title: "refuses a t 301 s ahead of the clock", ...atLimit(-301, allRefused) },
  "stale-hour": { title: "refuses a delivery signed an hour ago", run: aged(HOUR_SECONDS) },
  "stale-day": { title: "refuses a delivery signed a day ago", run: aged(DAY_SECONDS) },
  "future-hour": { title: "refuses a t an hour ahead", run: aged(-HOUR_SECONDS) },
  "future-decade": { title: "refuses a t ten years ahead", run: aged(-3_650 * DAY_SECONDS) },
  milliseconds: { title: "refuses a t in milliseconds", run: written([NOW, "000"]) },
  epoch: { title: "refuses a t of zero or below", run: written(["0"], ["-1"], ["-", NOW]) },
  "not-a-number": {
    title: "refuses a t that is not a number",
    level: "advice",
    hint: NUMBER_HINT,
    run: written(["NaN"], ["abc"], ["undefined"]),
  },
  "trailing-garbage": {
    title: "refuses a t with something behind the digits",
    level: "advice",
    hint: NUMBER_HINT,
    run: written([NOW, "abc"], [NOW, ".5"], [NOW, " "]),
  },
  "second-t": {
    title: "refuses an old delivery to which a fresh t was added",
    hint: "Refuse a header with two t, so that the one in the signed string is the one that is held against the clock.",
    run: refused(({ deliver, event }) => {
      const captured = { ageSeconds: 2 * HOUR_SECONDS, forged: true };
      return Promise.all([
        deliver(event(), { ...captured, signature: [header`t=${T},v1=${V1},t=${NOW}`] }),
        deliver(event(), { ...captured, signature: [header`t=${NOW},t=${T},v1=${V1}`] }),
      ]);
    }),
  },
});

/**
 * A delivery at an exact limit of the window, by the receiver's own clock. It holds only when no second ticks over in
 * between, so it is sent early in one, and unverified where nobody can tell when that is.
 */
function atLimit(
  ageSeconds: number,
  judge: typeof allRefused | typeof allAcknowledged,
): Pick<Check, "phase" | "run"> {
  const unverified = (reason: string) => ({ outcome: "unverified", reason }) as const;
  return {
    phase: "stalled",
    run: async ({ deliver, event, measureClock, nowSeconds, withinOneSecond }) => {
      const offset = await measureClock();
      if (offset === undefined)
        return unverified("The receiver sends no Date header, so its clock is not known.");
      if (offset.most - offset.least > OFFSET_DECIDABLE_SECONDS) {
        const [least, most] = [offset.least.toFixed(1), offset.most.toFixed(1)];
        return unverified(
          `The receiver's clock is between ${least} and ${most} s ahead of ours: too unsure to meet a limit to the second.`,
        );
      }
      const forged = judge === allRefused;
      const exchange = await withinOneSecond(offset, async (receiverSeconds) => {
        const t = receiverSeconds - ageSeconds;
        const sent = await deliver(event(), { ageSeconds: nowSeconds() - t, forged });
        // The clock may have ticked over between the two readings of it.
        return sent.request.headers.some(([, value]) => value.startsWith(`t=${t},`)) ? sent : undefined;
      });
      if (exchange !== undefined) return judge([exchange]);
      return unverified("No answer came early enough within a second of the receiver's clock.");
    },
  };
}

function aged(ageSeconds: number): Check["run"] {
  return refused(({ deliver, event }) => deliver(event(), { ageSeconds, forged: true }));
}

/** A `t` written in each of these ways has to be refused, although the whole is signed with the right secret. */
function written(...values: Part[][]): Check["run"] {
  return refused(({ deliver, event }) =>
    Promise.all(values.map((timestamp) => deliver(event(), { timestamp, forged: true }))),
  );
}
