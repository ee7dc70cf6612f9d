import { spawnSync } from "node:child_process";
import { join } from "node:path";

// npm run torture [-- FACTOR]: the long runs of both programs, one after the other; 1 is about an hour and a half.
for (const script of ["receiver.ts", "simulator.ts"]) {
  const file = join(import.meta.dirname, script);
  const { status } = spawnSync(process.execPath, [...process.execArgv, file, ...process.argv.slice(2)], {
    stdio: "inherit",
  });
  if (status !== 0) process.exitCode = 1;
}
