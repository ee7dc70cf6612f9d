import type { PlantedBug } from "./planted-bug.ts";

/** Bugs in `simulator/dashboard/`. */
export const plantedInDashboard: PlantedBug[] = [];
