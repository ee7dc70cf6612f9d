import type { CauseName } from "../../simulator/verify/causes.ts";
import type { Group } from "../../simulator/verify/check.ts";
import { ACKNOWLEDGEMENT } from "./planted/acknowledgement.ts";
import { BYTES } from "./planted/bytes.ts";
import { DIGEST } from "./planted/digest.ts";
import { DUPLICATES } from "./planted/duplicates.ts";
import { FORMS } from "./planted/forms.ts";
import { SHAPE } from "./planted/shape.ts";
import { TIME } from "./planted/time.ts";
import { WIRE } from "./planted/wire.ts";
import type { Behaviour } from "./receiver.ts";

/** A bug, the check that is meant to catch it, and the one cause that the run has to name. */
export type Mutant = {
  bug: string;
  plant: Partial<Behaviour>;
  caughtBy: string;
  cause: CauseName;
  /** Other causes that its failures may have, too. */
  alsoCauses?: CauseName[];
  /** Deliveries in a burst, where fewer would not show it. */
  burst?: number;
  /** How long an answer may take, where the bug is that none ever ends: no reason to wait as long as elsewhere. */
  responseTimeoutMs?: number;
  /** How long an event may be under way, where a busy machine prolongs that. Waited for only until it is taken. */
  underWayMs?: number;
  /** Judged by these groups alone, where the bug makes so many deliveries slow that all would take a minute. */
  groups?: readonly Group[];
  /** In short runs too: every check, where others' deliveries make it show; or the one that is meant for it alone. */
  meets?: "all" | "named";
};

export const MUTANTS: Record<string, Mutant> = {
  ...ACKNOWLEDGEMENT,
  ...TIME,
  ...DIGEST,
  ...FORMS,
  ...BYTES,
  ...DUPLICATES,
  ...SHAPE,
  ...WIRE,
};
