import { systemClock } from "../../../receiver/clock.ts";
import { loadConfig } from "../../../receiver/config.ts";
import { openEngine } from "../../../receiver/engines/open.ts";
import { createLog } from "../../../receiver/operations/log.ts";
import { startReceiver } from "../../../receiver/receiver.ts";

/** The receiver with the handlers of the module that HANDLERS_MODULE names. */
const loaded = loadConfig(process.env);
if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
const log = createLog({ level: loaded.config.logLevel });
const receiver = await startReceiver({
  config: loaded.config,
  engine: await openEngine({ ...loaded.config, clock: systemClock }),
  clock: systemClock,
  log,
  environment: process.env,
  handlersModule: new URL(process.env["HANDLERS_MODULE"] ?? "", import.meta.url),
});
process.once("SIGTERM", () => {
  void receiver.stop().then(() => {
    log.flush();
    process.exit(0);
  });
});
