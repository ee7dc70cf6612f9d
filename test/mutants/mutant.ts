import type { Group } from "../../simulator/verify/check.ts";
import type { Behaviour } from "./receiver.ts";

/** A bug, the check that is meant to catch it, and the checks that cannot help seeing it too. */
export type Mutant = {
  bug: string;
  plant: Partial<Behaviour>;
  /** Deliveries in a burst, where fewer would not show it. */
  burst?: number;
  /** How long an answer may take, where the bug is that none ever ends: no reason to wait as long as elsewhere. */
  responseTimeoutMs?: number;
  /** Judged by these groups alone, where the bug makes so many deliveries slow that all would take a minute. */
  groups?: readonly Group[];
  /** In short runs too: every check, where others' deliveries make it show; or those named alone, where all wait long. */
  meets?: "all" | "named";
  caughtBy: string;
  alsoBy?: string[];
  /** Checks that may see it too, or cannot judge it, depending on what happens to arrive together. */
  mayAlso?: string[];
  /** The receiver ends, so that nothing can be judged any more; what was found before counts. */
  kills?: true;
};
