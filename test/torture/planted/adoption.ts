import type { PlantedBug } from "./planted-bug.ts";

/** Bugs in the commands, the library and the fork. */
export const plantedInAdoption: PlantedBug[] = [];
