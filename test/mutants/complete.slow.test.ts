import { describe, expect, test } from "vitest";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import { CRASH_MUTANTS } from "./crash-mutants.ts";
import { idsOf, judge } from "./judge.ts";
import { DELIVERY_MUTANTS, SIGNATURE_MUTANTS } from "./mutants.ts";

/** Checks that fail only together with the one that brought the receiver down. */
const FOLLOWERS = ["wire.lives-on"];

const MUTANTS = { ...SIGNATURE_MUTANTS, ...DELIVERY_MUTANTS };
const caught = [...Object.values(MUTANTS), ...Object.values(CRASH_MUTANTS)].flatMap(
  ({ caughtBy, alsoBy = [] }) => [caughtBy, ...alsoBy],
);

describe("the table of mutants", () => {
  test("has a planted bug for every check", () => {
    const without = CATALOGUE.map(({ id }) => id).filter(
      (id) => !caught.includes(id) && !FOLLOWERS.includes(id),
    );
    expect(without).toEqual([]);
  });

  test("names no check that does not exist", () => {
    const ids = new Set([...CATALOGUE.map(({ id }) => id), "*"]);
    expect(caught.filter((id) => !ids.has(id))).toEqual([]);
  });

  test("control: the same receiver without a planted bug passes everything", async () => {
    const report = await judge({});
    expect(idsOf(report, "failed")).toEqual([]);
    expect(idsOf(report, "unverified")).toEqual([]);
    expect(report.verdict).toBe("passed");
  });
});
