import type { Behaviour } from "./receiver.ts";

/** A bug, the check that is meant to catch it, and the checks that cannot help seeing it too. */
export type Mutant = {
  bug: string;
  plant: Partial<Behaviour>;
  /** Deliveries in a burst, where fewer would not show it. */
  burst?: number;
  /** How long an answer may take, where the bug is that none ever ends: no reason to wait as long as elsewhere. */
  responseTimeoutMs?: number;
  caughtBy: string;
  alsoBy?: string[];
  /** Checks that may see it too, depending on what happens to arrive together. */
  mayAlso?: string[];
  /** The receiver ends, so that nothing can be judged any more; what was found before counts. */
  kills?: true;
};
