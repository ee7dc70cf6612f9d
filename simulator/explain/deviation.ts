import type { Digest } from "../signature-recipe/recipe.ts";

/** One way in which code departs from the rule of SPEC §6 Signature. */
export type Deviation = {
  /** A stable name for programs. */
  id: string;
  /** What went wrong, as a whole sentence. */
  title: string;
  /** What to do about it. */
  fix: string;
};

/** A way of signing that differs from the service's in one step, and how it is explained to the user. */
export type Departure = { deviation: Deviation; change: Omit<Digest, "kind"> };
