import type { PlantedBug } from "./planted-bug.ts";

/** Bugs in `simulator/verify/`. */
export const plantedInVerify: PlantedBug[] = [];
