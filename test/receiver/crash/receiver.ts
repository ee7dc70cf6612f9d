import { systemClock } from "../../../receiver/clock.ts";
import { loadConfig } from "../../../receiver/config.ts";
import { openSqliteEngine } from "../../../receiver/engines/sqlite/index.ts";
import { createLog } from "../../../receiver/operations/log.ts";
import { startReceiver } from "../../../receiver/receiver.ts";

/** The receiver with handlers that can be counted, ended at the point that CRASH_AT names. */
const loaded = loadConfig(process.env);
if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
const { config } = loaded;
const engine = await openSqliteEngine({
  file: config.databaseFile ?? "",
  clock: systemClock,
  writerThreadFile: new URL("./writer-thread.ts", import.meta.url),
});

let accepted = 0;
const accept: typeof engine.intake.accept = async (batch) => {
  const result = await engine.intake.accept(batch);
  accepted += 1;
  if (process.env["CRASH_AT"] === "after-commit" && accepted === 8) process.kill(process.pid, "SIGKILL");
  return result;
};

await startReceiver({
  config,
  engine: { ...engine, intake: { ...engine.intake, accept } },
  clock: systemClock,
  log: createLog({ level: config.logLevel }),
  environment: process.env,
  handlersModule: new URL("./deadly-handlers.mjs", import.meta.url),
});
