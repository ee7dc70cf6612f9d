/** A small, plausible mistake in our own code, and the tests that must fail when it is made. */
export interface PlantedBug {
  /** What it does to a user, behind the number of the promise that it breaks. */
  breaks: string;
  file: string;
  /** Stands exactly once in the file. */
  find: string;
  replace: string;
  /** The test files that cover it; one of them must fail. A name behind `-t` narrows them. */
  tests: string[];
}
