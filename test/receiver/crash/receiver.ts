import { systemClock } from "../../../receiver/clock.ts";
import { loadConfig } from "../../../receiver/config.ts";
import { createSqliteEngine } from "../../../receiver/engines/sqlite/index.ts";
import { createLog } from "../../../receiver/operations/log.ts";
import { startReceiver } from "../../../receiver/receiver.ts";

/** The receiver with handlers that can be counted, ended at the point that CRASH_AT names. */
const loaded = loadConfig(process.env);
if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
const { config } = loaded;
const engine = createSqliteEngine({
  file: config.databaseFile,
  clock: systemClock,
  workerId: "crash",
  writerThreadFile: new URL("./writer-thread.ts", import.meta.url),
});

let accepted = 0;
const accept: typeof engine.accept = async (batch) => {
  const result = await engine.accept(batch);
  accepted += 1;
  if (process.env["CRASH_AT"] === "after-commit" && accepted === 8) process.kill(process.pid, "SIGKILL");
  return result;
};

await startReceiver({
  config,
  engine: { ...engine, accept },
  clock: systemClock,
  random: Math.random,
  log: createLog({ level: config.logLevel }),
  environment: process.env,
  workerFile: new URL("./worker.ts", import.meta.url),
});
