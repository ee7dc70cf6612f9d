import type { Run } from "./run.ts";

/** What new users do first, on several versions of Node.js. Needs a registry; no seed or size changes it. */
export const runs: Run[] = [
  { name: "adoption", minutes: 5, pace: "fixed", script: "test/torture/adoption/trials.ts" },
];
