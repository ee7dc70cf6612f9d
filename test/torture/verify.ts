import { spawnSync } from "node:child_process";

/**
 * Verify's long run: each example twenty times without options, and as often with its effects read back; and what
 * differs from one in a way that only waiting shows. Give a factor to shorten or lengthen it; 1 is about twenty minutes.
 */
const factor = Number(process.argv[2] ?? 1);
const rounds = String(Math.max(2, Math.round(20 * factor)));

const { status } = spawnSync(process.execPath, ["node_modules/vitest/vitest.mjs", "run", "test/examples"], {
  stdio: "inherit",
  env: { ...process.env, VERIFY_ROUNDS: rounds },
});
if (status !== 0) process.exitCode = 1;
