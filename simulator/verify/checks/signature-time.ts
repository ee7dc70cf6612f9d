import { header, moment, type Part, T, V1 } from "../../signature-recipe/recipe.ts";
import type { Check, Named } from "../check.ts";
import type { Exchange } from "../delivery.ts";
import { allAcknowledged, allRefused, refuses } from "../judge.ts";
import { RULES } from "../rules.ts";

/** How well the offset of the receiver's clock has to be known for an exact limit to be met. */
const OFFSET_DECIDABLE_SECONDS = 0.25;

const NOW = moment(0);
const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;
const LIMIT_HINT =
  "Refuse when |now − t| is more than 300 in whole seconds, on either side; exactly 300 is still inside.";
const NUMBER_HINT =
  "Take t for a number only when it is digits and nothing else: NaN is not greater than 300, so a lenient parser lets it through.";

/** Whether t is held against the clock, on both sides, to the second. */
export const signatureTimeChecks: Check[] = [
  limit(
    { name: "past-299", title: "accepts a delivery signed 299 s ago", level: "must", ageSeconds: 299 },
    allAcknowledged,
  ),
  // A clock that is read with fractions is past 300 s within the same second, so the two at 300 s ask for whole seconds.
  limit(
    {
      name: "past-300",
      title: "accepts a delivery signed exactly 300 s ago",
      level: "advice",
      ageSeconds: 300,
    },
    allAcknowledged,
  ),
  limit(
    { name: "past-301", title: "refuses a delivery signed 301 s ago", level: "must", ageSeconds: 301 },
    allRefused,
  ),
  limit(
    { name: "future-299", title: "accepts a t 299 s ahead of the clock", level: "must", ageSeconds: -299 },
    allAcknowledged,
  ),
  limit(
    {
      name: "future-300",
      title: "accepts a t exactly 300 s ahead of the clock",
      level: "advice",
      ageSeconds: -300,
    },
    allAcknowledged,
  ),
  limit(
    { name: "future-301", title: "refuses a t 301 s ahead of the clock", level: "must", ageSeconds: -301 },
    allRefused,
  ),
  aged("stale-hour", "refuses a delivery signed an hour ago", HOUR_SECONDS),
  aged("stale-day", "refuses a delivery signed a day ago", DAY_SECONDS),
  aged("future-hour", "refuses a t an hour ahead", -HOUR_SECONDS),
  aged("future-decade", "refuses a t ten years ahead", -3_650 * DAY_SECONDS),
  timestamps(
    { name: "milliseconds", title: "refuses a t in milliseconds", level: "must", hint: LIMIT_HINT },
    [[NOW, "000"]],
  ),
  timestamps({ name: "epoch", title: "refuses a t of zero or below", level: "must", hint: LIMIT_HINT }, [
    ["0"],
    ["-1"],
    ["-", NOW],
  ]),
  timestamps(
    { name: "not-a-number", title: "refuses a t that is not a number", level: "advice", hint: NUMBER_HINT },
    [["NaN"], ["abc"], ["undefined"]],
  ),
  timestamps(
    {
      name: "trailing-garbage",
      title: "refuses a t with something behind the digits",
      level: "advice",
      hint: NUMBER_HINT,
    },
    [
      [NOW, "abc"],
      [NOW, ".5"],
      [NOW, " "],
    ],
  ),
  refuses(
    "signature",
    {
      id: "signature.second-t",
      title: "refuses an old delivery to which a fresh t was added",
      level: "must",
      spec: RULES.tolerance,
      hint: "Refuse a header with two t, so that the one in the signed string is the one that is held against the clock.",
    },
    ({ deliver, event }) => {
      const captured = { ageSeconds: 2 * HOUR_SECONDS, forged: true };
      return Promise.all([
        deliver(event(), { ...captured, signature: [header`t=${T},v1=${V1},t=${NOW}`] }),
        deliver(event(), { ...captured, signature: [header`t=${NOW},t=${T},v1=${V1}`] }),
      ]);
    },
  ),
];

/**
 * A check at an exact limit of the window, by the receiver's own clock. It holds only when no second ticks over in
 * between, so it is sent early in one, and unverified where nobody can tell when that is.
 */
function limit(
  { name, title, level, ageSeconds }: Named<"title" | "level"> & { ageSeconds: number },
  judge: (exchanges: Exchange[]) => ReturnType<typeof allRefused>,
): Check {
  return {
    id: `signature.${name}`,
    title,
    level,
    group: "signature",
    spec: RULES.tolerance,
    hint: LIMIT_HINT,
    phase: "stalled",
    run: async ({ deliver, event, measureClock, nowSeconds, withinOneSecond }) => {
      const offset = await measureClock();
      if (offset === undefined) {
        return {
          outcome: "unverified",
          reason: "The receiver sends no Date header, so its clock is not known.",
        };
      }
      if (offset.most - offset.least > OFFSET_DECIDABLE_SECONDS) {
        const [least, most] = [offset.least.toFixed(1), offset.most.toFixed(1)];
        return {
          outcome: "unverified",
          reason: `The receiver's clock is between ${least} and ${most} s ahead of ours: too unsure to meet a limit to the second.`,
        };
      }
      const forged = judge === allRefused;
      const exchange = await withinOneSecond(offset, async (receiverSeconds) => {
        const t = receiverSeconds - ageSeconds;
        const sent = await deliver(event(), { ageSeconds: nowSeconds() - t, forged });
        // The clock may have ticked over between the two readings of it.
        return sent.request.headers.some(([, value]) => value.startsWith(`t=${t},`)) ? sent : undefined;
      });
      if (exchange !== undefined) return judge([exchange]);
      return {
        outcome: "unverified",
        reason: "No answer came within one second of the receiver's clock, in eight tries.",
      };
    },
  };
}

function aged(name: string, title: string, ageSeconds: number): Check {
  return refuses(
    "signature",
    { id: `signature.${name}`, title, level: "must", spec: RULES.tolerance, hint: LIMIT_HINT },
    ({ deliver, event }) => deliver(event(), { ageSeconds, forged: true }),
  );
}

/** A check that a `t` written in each of these ways is refused, although the whole is signed with the right secret. */
function timestamps({ name, ...about }: Named<"title" | "level" | "hint">, values: Part[][]): Check {
  return refuses(
    "signature",
    { ...about, id: `signature.${name}`, spec: RULES.tolerance },
    ({ deliver, event }) =>
      Promise.all(values.map((timestamp) => deliver(event(), { timestamp, forged: true }))),
  );
}
