import type { Mutant } from "./mutant.ts";
import { ACKNOWLEDGEMENT } from "./planted/acknowledgement.ts";
import { TIME } from "./planted/time.ts";
import { DIGEST } from "./planted/digest.ts";
import { FORMS } from "./planted/forms.ts";
import { BYTES } from "./planted/bytes.ts";
import { DUPLICATES } from "./planted/duplicates.ts";
import { SHAPE } from "./planted/shape.ts";
import { WIRE } from "./planted/wire.ts";

/** Planted bugs about who signed what and when. */
export const SIGNATURE_MUTANTS: Record<string, Mutant> = { ...ACKNOWLEDGEMENT, ...TIME, ...DIGEST, ...FORMS };

/** Planted bugs about bytes, copies, shapes and sockets. */
export const DELIVERY_MUTANTS: Record<string, Mutant> = { ...BYTES, ...DUPLICATES, ...SHAPE, ...WIRE };
