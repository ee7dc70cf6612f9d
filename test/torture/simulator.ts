import { times, type Run } from "./run.ts";

/** The simulator's long runs: many more seeds of the simulation, and figures of the machine. */
export const runs: Run[] = [
  {
    name: "delivery simulated",
    minutes: 25,
    script: "test/simulator/simulation/main.ts",
    arguments: (size, seed) => ["--seeds", times(10_000, size), "--from", String(seed)],
  },
  {
    name: "frames of the dashboard",
    minutes: 1,
    pace: "alone",
    files: ["test/dashboard/feed.slow.test.ts"],
    environment: () => ({ DASHBOARD_FRAMES: "measured" }),
  },
];
