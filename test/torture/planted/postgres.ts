import type { PlantedBug } from "./planted-bug.ts";

/** Bugs in `receiver/engines/postgres/`. */
export const plantedInPostgres: PlantedBug[] = [];
