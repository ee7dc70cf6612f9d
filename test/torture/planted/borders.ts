import type { PlantedBug } from "./planted-bug.ts";

/** Bugs in what keeps strangers out, in the receiver and the simulator. */
export const plantedInBorders: PlantedBug[] = [];
