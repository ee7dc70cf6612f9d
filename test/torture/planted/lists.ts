import { plantedInAdoption } from "./adoption.ts";
import { plantedInBorders } from "./borders.ts";
import { plantedInChecks } from "./checks.ts";
import { plantedInCommands } from "./commands.ts";
import { plantedInCornersOfTheSimulator } from "./corners-simulator.ts";
import { plantedInCorners } from "./corners.ts";
import { plantedInDashboard } from "./dashboard.ts";
import { plantedInDelivery } from "./delivery.ts";
import { plantedInDocs } from "./docs.ts";
import { plantedInEdges } from "./edges.ts";
import { plantedInFirstSteps } from "./first-steps.ts";
import type { PlantedBug } from "./planted-bug.ts";
import { plantedInPostgres } from "./postgres.ts";
import { plantedInReceiver } from "./receiver.ts";
import { plantedInMove } from "./move.ts";
import { plantedInOneWorld } from "./one-world.ts";
import { plantedInService } from "./service.ts";
import { plantedInSimulator } from "./simulator.ts";
import { plantedInSqlite } from "./sqlite.ts";
import { plantedInSteady } from "./steady.ts";
import { plantedInVerify } from "./verify.ts";

/** Every planted bug, by what it is in. */
export const lists: Record<string, PlantedBug[]> = {
  receiver: plantedInReceiver,
  sqlite: plantedInSqlite,
  "one world": plantedInOneWorld,
  postgres: plantedInPostgres,
  move: plantedInMove,
  delivery: plantedInDelivery,
  simulator: plantedInSimulator,
  steady: plantedInSteady,
  service: plantedInService,
  edges: plantedInEdges,
  verify: plantedInVerify,
  dashboard: plantedInDashboard,
  "first steps": plantedInFirstSteps,
  borders: plantedInBorders,
  adoption: plantedInAdoption,
  commands: plantedInCommands,
  docs: plantedInDocs,
  corners: plantedInCorners,
  "corners of the simulator": plantedInCornersOfTheSimulator,
  "verify's checks": plantedInChecks,
};
