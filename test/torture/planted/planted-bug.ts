/** A small, plausible mistake in our own code, and the tests that must fail when it is made. */
export interface PlantedBug {
  /** What is wrong with the code then, in a few words. */
  what: string;
  file: string;
  /** Stands exactly once in the file. */
  find: string;
  replace: string;
  /** The test files that cover it; one of them must fail. A name behind `-t` narrows them. */
  tests: string[];
  /** Why no test can or need tell, for one that is known to survive. */
  survives?: string;
}
