import { systemClock } from "../../../receiver/clock.ts";
import { loadConfig } from "../../../receiver/config.ts";
import { openEngine } from "../../../receiver/engines/open.ts";
import { createLog } from "../../../receiver/operations/log.ts";
import { startReceiver } from "../../../receiver/receiver.ts";

/** The receiver with the handlers of the worker that WORKER_FILE names. */
const loaded = loadConfig(process.env);
if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
const log = createLog({ level: loaded.config.logLevel });
const receiver = await startReceiver({
  config: loaded.config,
  engine: await openEngine({
    databaseFile: loaded.config.databaseFile,
    clock: systemClock,
    retry: { maximumAttempts: loaded.config.maximumAttempts, backoffMs: () => 60_000 },
  }),
  clock: systemClock,
  log,
  environment: process.env,
  workerFile: new URL(process.env["WORKER_FILE"] ?? "", import.meta.url),
});
process.once("SIGTERM", () => {
  void receiver.stop().then(() => {
    log.flush();
    process.exit(0);
  });
});
