import { systemClock } from "../../receiver/clock.ts";
import { loadConfig } from "../../receiver/config.ts";
import { createSqliteEngine } from "../../receiver/engines/sqlite/index.ts";
import { createLog } from "../../receiver/operations/log.ts";
import { startReceiver } from "../../receiver/receiver.ts";

/** The receiver with handlers that quote their event wherever they can. */
const loaded = loadConfig(process.env);
if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
const log = createLog({ level: loaded.config.logLevel });
const receiver = await startReceiver({
  config: loaded.config,
  engine: createSqliteEngine({ file: loaded.config.databaseFile, clock: systemClock, workerId: "canary" }),
  clock: systemClock,
  random: Math.random,
  log,
  environment: process.env,
  workerFile: new URL("./canary-worker.ts", import.meta.url),
});
process.once("SIGTERM", () => {
  void receiver.stop().then(() => {
    log.flush();
    process.exit(0);
  });
});
