import { times, type Run } from "./run.ts";

/** The simulator's long runs: real deadlines, many more seeds of the simulation, and figures of the machine. */
export const runs: Run[] = [
  { name: "deadlines", minutes: 1, script: "test/torture/deadlines.ts" },
  {
    name: "delivery simulated",
    minutes: 25,
    script: "test/simulator/simulation/main.ts",
    arguments: (size, seed) => ["--seeds", times(10_000, size), "--from", String(seed)],
  },
  {
    name: "floods and frames",
    minutes: 1,
    files: ["test/simulator/sender/flood.test.ts", "test/dashboard/feed.test.ts"],
    environment: () => ({ FLOOD_TURNS: "measured", DASHBOARD_FRAMES: "measured" }),
  },
];
