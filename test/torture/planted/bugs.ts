import { plantedOrder } from "./kinds/order.ts";
import { plantedStart } from "./kinds/start.ts";
import { plantedBetween } from "./kinds/between.ts";
import { plantedLast } from "./kinds/last.ts";
import { plantedWords } from "./kinds/words.ts";
import { plantedUnits } from "./kinds/units.ts";
import { plantedOptions } from "./kinds/options.ts";
import { plantedSpelling } from "./kinds/spelling.ts";
import { plantedResources } from "./kinds/resources.ts";
import { plantedHints } from "./kinds/hints.ts";
import { plantedVerify } from "./kinds/verify.ts";
import type { PlantedBug } from "./planted-bug.ts";
import { plantedInReceiver } from "./receiver.ts";
import { plantedBySecondStranger } from "./second-stranger.ts";
import { plantedInSecurity } from "./security.ts";
import { plantedInSignature } from "./signature.ts";
import { plantedInSimulator } from "./simulator.ts";
import { plantedByStranger } from "./stranger.ts";
import { plantedByThirdStranger } from "./third-stranger.ts";
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
  ...plantedByStranger,
  ...plantedBySecondStranger,
  ...plantedByThirdStranger,
  ...plantedOrder,
  ...plantedStart,
  ...plantedBetween,
  ...plantedLast,
  ...plantedWords,
  ...plantedUnits,
  ...plantedOptions,
  ...plantedSpelling,
  ...plantedResources,
  ...plantedHints,
  ...plantedVerify,
];
