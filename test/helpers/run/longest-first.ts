import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The slowest files, measured on two cores, slowest first: started last, one of these would prolong the whole run. */
const LONGEST = [
  "test/fork/own-tests.slow.test.ts",
  "test/receiver/store/power-cut.slow.test.ts",
  "test/receiver/postgres/race.slow.test.ts",
  "test/fork/handlers.slow.test.ts",
  "test/library/package.slow.test.ts",
  "test/mutants/crash.slow.test.ts",
  "test/receiver/postgres/postgres.test.ts",
  "test/receiver/work/process.test.ts",
  "test/examples/mounted.slow.test.ts",
  "test/verify/curl.slow.test.ts",
  "test/receiver/whole/kill.test.ts",
  "test/receiver/whole/process.test.ts",
  "test/simulator/sender/stages.test.ts",
];

/** Runs the slowest files first, and all others in any order. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification): number => {
      const place = LONGEST.findIndex((name) => moduleId.endsWith(name));
      return place === -1 ? LONGEST.length : place;
    };
    return files.toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}
