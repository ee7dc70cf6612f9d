import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";

/**
 * Runs tests repeatedly while other processes use twice the cores: `node test/torture/overload.ts RUNS [FILES]`. Tests that
 * only pass on an idle machine fail here. Exits with 1 if a run failed.
 */

/** Loops in slices, so that such a process ends when its parent is gone. */
const LOOP = `
  process.on("disconnect", () => process.exit());
  const turn = () => { const end = Date.now() + 50; while (Date.now() < end); setImmediate(turn); };
  turn();`;

const [runs = "5", ...files] = process.argv.slice(2);
const loops = Array.from({ length: 2 * availableParallelism() }, () =>
  spawn(process.execPath, ["-e", LOOP], { stdio: ["ignore", "ignore", "ignore", "ipc"] }),
);
for (let run = 1; run <= Number(runs); run += 1) {
  const startedAtMs = performance.now();
  const vitest = spawn(
    process.execPath,
    ["node_modules/vitest/vitest.mjs", "run", "--reporter=dot", ...files],
    { stdio: "inherit" },
  );
  const status = await new Promise<number | null>((resolve) => vitest.once("close", resolve));
  const seconds = ((performance.now() - startedAtMs) / 1_000).toFixed(0);
  console.log(`[${run}/${runs}] ${seconds} s: ${status === 0 ? "green" : "failed"}`);
  if (status !== 0) process.exitCode = 1;
}
for (const loop of loops) loop.kill("SIGKILL");
