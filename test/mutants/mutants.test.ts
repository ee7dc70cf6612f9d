import { describe, expect, test } from "vitest";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import type { Check } from "../../simulator/verify/check.ts";
import { ALL } from "../helpers/run/sizes.ts";
import { CRASH_MUTANTS } from "./crash-mutants.ts";
import { idsOf, judge, story } from "./judge.ts";
import { type Mutant, MUTANTS } from "./mutants.ts";

/** These fail only if another check crashed the receiver, or judge what other checks sent. */
const FOLLOWERS = ["wire.lives-on", "effects.ledger"];
const JUDGED = CATALOGUE.filter(({ phase, group }) => phase !== "crash" && group !== "production");
/** With VERIFY_MUTANTS every check judges every mutant. */
const MEETS_ALL = process.env["VERIFY_MUTANTS"] !== undefined;

/** The checks that judge a mutant: the one meant for it; with `npm run test:all` all of that check's group. */
function checksFor({ groups, meets, caughtBy }: Mutant): Check[] {
  return JUDGED.filter(({ id, group }) => {
    if (groups !== undefined && (ALL || MEETS_ALL)) return groups.includes(group);
    if (MEETS_ALL || meets === "all") return true;
    return ALL && meets !== "named" ? caughtBy.startsWith(`${group}.`) : id === caughtBy;
  });
}

/** When packets and timers come decides what these do: on a busy machine they may do nothing wrong. */
const TIMED =
  "works-before-answering check-then-insert busy-on-duplicate shut-each-other-out handles-late bounded-queue first-read impatient one-at-a-time too-busy too-busy-for-good dies-on-half-close few-copies";
const MUTANTS_HERE = Object.entries(MUTANTS).filter(([name]) => ALL || !TIMED.split(" ").includes(name));

const seen = new Set(Object.values(CRASH_MUTANTS).map(({ caughtBy }) => caughtBy));

describe.concurrent("a receiver that is right but for one bug", () => {
  test.each(MUTANTS_HERE)("%s: the check meant for it fails, by that cause alone", async (_, mutant) => {
    const { caughtBy, cause, alsoCauses = [] } = mutant;
    const report = await judge(mutant.plant, { ...mutant, checks: checksFor(mutant) });
    const failures = report.results.filter(({ outcome }) => outcome === "failed");
    for (const { check } of failures) seen.add(check.id);

    expect(failures.find(({ check }) => check.id === caughtBy)?.cause, story(report)).toBe(cause);
    const others = failures.filter(
      (one) => one.cause !== undefined && ![cause, ...alsoCauses].includes(one.cause),
    );
    expect(others.map(({ check, cause: other }) => `${check.id}: ${other}`)).toEqual([]);
    expect(report.incomplete).toBeUndefined();
  });
});

test.runIf(ALL)("each check fails for at least one of them", () => {
  const unseen = CATALOGUE.filter(({ id }) => !seen.has(id) && !FOLLOWERS.includes(id));
  expect(unseen.map(({ id }) => id)).toEqual([]);
});

test("control: the same receiver without a bug passes everything", async () => {
  const report = await judge({});
  expect(idsOf(report, "failed"), story(report)).toEqual([]);
  expect(idsOf(report, "unverified")).toEqual([]);
  expect(report.verdict).toBe("passed");
});
