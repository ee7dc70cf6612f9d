import { expect, test } from "vitest";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import { markKnown, type CheckResult } from "../../simulator/verify/report.ts";
import { readBaseline } from "../../simulator/verify/reports/json.ts";
import { reachableCheck } from "../../simulator/verify/preflight.ts";

const [FIRST, SECOND] = CATALOGUE;

/** The ids of what is known from a baseline in which the first check failed and the second was not judged. */
function knownOf(
  results: [check: CheckResult["check"] | undefined, outcome: CheckResult["outcome"]][],
): string[] {
  const checks = [
    { id: FIRST?.id, outcome: "failed" },
    { id: SECOND?.id, outcome: "unverified" },
    { id: reachableCheck.id, outcome: "unverified" },
  ];
  const baseline = readBaseline(JSON.stringify({ object: "verify_report", checks }));
  if (baseline === undefined) throw new Error("this is no baseline");
  const marked = markKnown(
    results.flatMap(([check, outcome]) =>
      check === undefined ? [] : [{ check, outcome, exchanges: [], durationMs: 0 }],
    ),
    baseline,
  );
  return marked.filter(({ known }) => known === true).map(({ check }) => check.id);
}

test("what the baseline has too is known, as long as it ended the same way", () => {
  expect(
    knownOf([
      [FIRST, "failed"],
      [SECOND, "unverified"],
    ]),
  ).toEqual([FIRST?.id, SECOND?.id]);
  expect(
    knownOf([
      [FIRST, "unverified"],
      [SECOND, "failed"],
    ]),
  ).toEqual([]);
  expect(
    knownOf([
      [FIRST, "passed"],
      [SECOND, "passed"],
    ]),
  ).toEqual([]);
});

test("a receiver that cannot be reached is never old news", () => {
  expect(knownOf([[reachableCheck, "unverified"]])).toEqual([]);
});

test("what is no report is no baseline", () => {
  expect(readBaseline("{")).toBeUndefined();
  expect(readBaseline("[]")).toBeUndefined();
});
