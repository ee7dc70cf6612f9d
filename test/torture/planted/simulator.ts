import type { PlantedBug } from "./planted-bug.ts";

/** Bugs in `simulator/`, but for what has a list of its own. */
export const plantedInSimulator: PlantedBug[] = [];
