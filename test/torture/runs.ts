import { runs as ofAdoption } from "./adoption.ts";
import { runs as ofBorders } from "./borders.ts";
import { runs as ofReceiver } from "./receiver.ts";
import { runs as ofSimulator } from "./simulator.ts";
import { runs as ofVerify } from "./verify.ts";
import type { Run } from "./run.ts";

/** Every long run. */
export const RUNS: readonly Run[] = [...ofReceiver, ...ofSimulator, ...ofVerify, ...ofBorders, ...ofAdoption];
