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
import type { Behaviour } from "./behaviour.ts";

/** A bug, the check that must catch it, and the one cause that the run must name. */
export type Mutant = {
  bug: string;
  plant: Partial<Behaviour>;
  caughtBy: string;
  cause: CauseName;
  /** Other causes that its failures may have, too. */
  alsoCauses?: CauseName[];
  /** Deliveries in a burst, if fewer would not show the bug. */
  burst?: number;
  /** How long an answer may take, if the bug is that no answer ends: shorter than elsewhere. */
  responseTimeoutMs?: number;
  /** How long an event may take on a busy machine. The wait ends when it is accepted. */
  underWayMs?: number;
  /** Only these groups judge it, because the bug slows so many deliveries that a full run takes a minute. */
  groups?: readonly Group[];
  /** Runs in short runs too: every check, if the bug shows in others' deliveries, or only the check meant for it. */
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
