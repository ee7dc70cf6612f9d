import type { Run } from "./run.ts";

/** What new users do first, on several versions of Node.js, which needs a registry, and how they end it. No seed or size changes it. */
export const runs: Run[] = [
  { name: "adoption", minutes: 5, pace: "fixed", script: "test/torture/adoption/trials.ts" },
  { name: "projects made by create", minutes: 2, pace: "fixed", files: ["test/e2e/create.long.ts"] },
  { name: "Ctrl-C in every command", minutes: 0.7, pace: "alone", files: ["test/e2e/interrupt.long.ts"] },
];
