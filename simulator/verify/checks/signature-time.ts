import { setTimeout as sleep } from "node:timers/promises";
import { header, moment, type Part, T, V1 } from "../../signature-recipe/recipe.ts";
import type { Check, Runs, Verdict } from "../check.ts";
import type { CheckContext } from "../context.ts";
import { allAcknowledged, allRefused, refused, unverified } from "../judgement.ts";

const NOW = moment(0);
const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;

const TRIES = 4;
/**
 * A try at a limit is sent in this part of a second, so that no clock has rounded it up; not at its very beginning, where the
 * answer would not tell a clock that is a little behind from ours.
 */
const EARLY_MS = { from: 40, to: 300 };
/** Two seconds farther out the limit is clear for any clock read by Date headers. */
const FARTHER_SECONDS = 2;

/** Whether t is compared with the clock, on both sides, to the second. */
export const signatureTimeRuns: Runs = {
  "signature.past-299": atLimit(299, "accepted"),
  // A clock that is read with fractions is past 300 s within the same second, so the two at 300 s ask for whole seconds.
  "signature.past-300": atLimit(300, "accepted"),
  "signature.past-301": atLimit(301, "refused"),
  "signature.future-299": atLimit(-299, "accepted"),
  "signature.future-300": atLimit(-300, "accepted"),
  "signature.future-301": atLimit(-301, "refused"),
  "signature.stale-hour": aged(HOUR_SECONDS),
  "signature.stale-day": aged(DAY_SECONDS),
  "signature.future-hour": aged(-HOUR_SECONDS),
  "signature.future-decade": aged(-3_650 * DAY_SECONDS),
  "signature.milliseconds": written([NOW, "000"]),
  "signature.epoch": written(["0"], ["-1"], ["-", NOW]),
  "signature.not-a-number": written(["NaN"], ["abc"], ["undefined"]),
  "signature.trailing-garbage": written([NOW, "abc"], [NOW, ".5"], [NOW, " "]),
  "signature.second-t": refused(({ deliver, event }) => {
    const captured = { ageSeconds: 2 * HOUR_SECONDS, forged: true };
    return Promise.all([
      deliver(event(), { ...captured, signature: [header`t=${T},v1=${V1},t=${NOW}`] }),
      deliver(event(), { ...captured, signature: [header`t=${NOW},t=${T},v1=${V1}`] }),
    ]);
  }),
};

type Expected = "accepted" | "refused";

/**
 * A delivery at an exact limit of the window, by the receiver's own clock. A failure counts only where no second has ticked
 * over meanwhile, and is tried again first. Where the receiver's clock leaves a doubt, also one that came up with an answer
 * to a try, what fails at the limit passes if it is right farther out.
 */
function atLimit(ageSeconds: number, expected: Expected): Check["run"] {
  return async (context) => {
    let clock = context.clock.known();
    if (clock === undefined)
      return unverified("The receiver sends no Date header, so its clock is not known.");
    let verdict: Verdict | undefined;
    for (let tries = 0; tries < TRIES; tries += 1) {
      if (tries > 0) await earlyInSecond(context, clock.at);
      verdict = (await tryAge(context, ageSeconds, clock.at, expected)) ?? verdict;
      if (verdict?.outcome === "passed") return verdict;
      clock = context.clock.known() ?? clock;
    }
    return verdict !== undefined && clock.exact ? verdict : fartherOut(context, ageSeconds, clock, expected);
  };
}

/** One try; undefined if it failed, but a second of the receiver's clock ticked over meanwhile. */
async function tryAge(
  { deliver, event, now, nowSeconds }: CheckContext,
  ageSeconds: number,
  aheadSeconds: number,
  expected: Expected,
): Promise<Verdict | undefined> {
  const second = (): number => Math.floor(now() / 1_000 + aheadSeconds);
  const before = second();
  const forged = expected === "refused";
  const exchange = await deliver(event(), { ageSeconds: nowSeconds() - before + ageSeconds, forged });
  const verdict = forged ? allRefused([exchange]) : allAcknowledged([exchange]);
  return verdict.outcome === "failed" && second() !== before ? undefined : verdict;
}

/** The same, so far from the limit that an error of the measured clock and a second more do not change the verdict. */
async function fartherOut(
  context: CheckContext,
  ageSeconds: number,
  { least, most }: { least: number; most: number },
  expected: Expected,
): Promise<Verdict> {
  const outwards = Math.sign(ageSeconds) * (expected === "refused" ? 1 : -1);
  // By the clock that makes the age at least as large, or as small, as intended.
  const aheadSeconds = outwards > 0 ? least : most;
  const verdict = await tryAge(context, ageSeconds + outwards * FARTHER_SECONDS, aheadSeconds, expected);
  if (verdict?.outcome === "passed") {
    const note = `To within ${(most - least + FARTHER_SECONDS).toFixed(1)} s: its Date headers leave its clock open by that much.`;
    return { ...verdict, note };
  }
  const reason = "No answer came early enough within a second of the receiver's clock.";
  return verdict ?? { ...unverified(reason), isLate: true };
}

async function earlyInSecond({ now }: CheckContext, aheadSeconds: number): Promise<void> {
  const intoSecondMs = (((now() + aheadSeconds * 1_000) % 1_000) + 1_000) % 1_000;
  if (intoSecondMs < EARLY_MS.from || intoSecondMs > EARLY_MS.to)
    await sleep((1_000 - intoSecondMs + EARLY_MS.from) % 1_000);
}

function aged(ageSeconds: number): Check["run"] {
  return refused(({ deliver, event }) => deliver(event(), { ageSeconds, forged: true }));
}

/** A `t` in each of these forms must be refused, although it is signed with the right secret. */
function written(...values: Part[][]): Check["run"] {
  return refused(({ deliver, event }) =>
    Promise.all(values.map((timestamp) => deliver(event(), { timestamp, forged: true }))),
  );
}
