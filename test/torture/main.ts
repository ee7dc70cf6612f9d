import { spawnSync } from "node:child_process";
import { join } from "node:path";

// npm run torture [-- FACTOR]: the long runs, one after the other; 1 is about an hour and three quarters.
for (const script of ["receiver.ts", "simulator.ts", "verify.ts"]) {
  const file = join(import.meta.dirname, script);
  const { status } = spawnSync(process.execPath, [...process.execArgv, file, ...process.argv.slice(2)], {
    stdio: "inherit",
  });
  if (status !== 0) process.exitCode = 1;
}
