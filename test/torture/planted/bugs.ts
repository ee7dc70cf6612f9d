import type { PlantedBug } from "./planted-bug.ts";
import { plantedInReceiver } from "./receiver.ts";
import { plantedInSecurity } from "./security.ts";
import { plantedInSignature } from "./signature.ts";
import { plantedInSimulator } from "./simulator.ts";
import { plantedInUsage } from "./usage.ts";
import { plantedInVerify } from "./verify.ts";

/** All of them. */
export const BUGS: readonly PlantedBug[] = [
  ...plantedInSignature,
  ...plantedInReceiver,
  ...plantedInSecurity,
  ...plantedInSimulator,
  ...plantedInUsage,
  ...plantedInVerify,
];
