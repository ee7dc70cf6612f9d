import { BaseSequencer, type TestSpecification } from "vitest/node";

/** What takes longest, measured on two cores, longest first: begun last, one of these would keep the others waiting. */
const LONGEST = [
  "test/fork/own-tests.slow.test.ts",
  "test/mutants/crash.slow.test.ts",
  "test/receiver/whole/kill.test.ts",
  "test/receiver/whole/process.test.ts",
  "test/library/package.slow.test.ts",
  "test/examples/twins.slow.test.ts",
  "test/examples/receivers.slow.test.ts",
  "test/dashboard/accessibility.slow.test.ts",
  "test/mutants/right.slow.test.ts",
  "test/mutants/mutants.slow.test.ts",
  "test/simulator/sixth-type.slow.test.ts",
  "test/simulator/sender/stages.test.ts",
  "test/verify/explore.slow.test.ts",
  "test/dashboard/pages.slow.test.ts",
  "test/dashboard/hostile.slow.test.ts",
  "test/dashboard/verdicts.slow.test.ts",
  "test/dashboard/journey.slow.test.ts",
  "test/dashboard/feed.slow.test.ts",
];

/** Runs the longest files first, and all others as they come. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification): number => {
      const place = LONGEST.findIndex((name) => moduleId.endsWith(name));
      return place === -1 ? LONGEST.length : place;
    };
    return files.toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}
