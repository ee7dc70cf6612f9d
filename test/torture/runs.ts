import { runs as ofAdoption } from "./adoption.ts";
import { runs as ofBorders } from "./borders.ts";
import { runs as ofReceiver } from "./receiver.ts";
import { times, type Run } from "./run.ts";
import { runs as ofSimulator } from "./simulator.ts";
import { runs as ofVerify } from "./verify.ts";

const PLANTED_MINUTES = 25;

/** Every long run. */
export const RUNS: readonly Run[] = [
  ...ofReceiver,
  ...ofSimulator,
  ...ofVerify,
  ...ofBorders,
  ...ofAdoption,
  {
    name: "planted bugs",
    minutes: PLANTED_MINUTES,
    script: "test/torture/planted/main.ts",
    arguments: (size) => ["--minutes", times(PLANTED_MINUTES, size)],
  },
];
