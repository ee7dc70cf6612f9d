/**
 * What tests overlook most easily, as seen where others than their authors planted bugs: each kind has a dozen of its own in
 * kinds/.
 */
export const KINDS = [
  "order",
  "start",
  "between",
  "last",
  "words",
  "units",
  "options",
  "spelling",
  "resources",
  "hints",
  "verify",
] as const;

/** A small, plausible mistake in our own code, and the tests that must fail when it is made. */
export interface PlantedBug {
  kind?: (typeof KINDS)[number];
  /** What it does to a user, behind the number of the promise that it breaks. */
  breaks: string;
  file: string;
  /** Stands exactly once in the file. */
  find: string;
  replace: string;
  /** The test files that cover it; one of them must fail. A name behind `-t` narrows them. */
  tests: string[];
}
