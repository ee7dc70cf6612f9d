import { systemClock as clock } from "../../../receiver/clock.ts";
import { loadConfig } from "../../../receiver/config.ts";
import { createLog } from "../../../receiver/operations/log.ts";
import { startReceiver } from "../../../receiver/receiver.ts";
import { openStore } from "../../../receiver/store/open.ts";

/** The receiver with the handlers of the module that HANDLERS_MODULE names. */
const loaded = loadConfig(process.env);
if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
const { config } = loaded;
const receiver = await startReceiver({
  config,
  store: await openStore({ ...config, clock, isWorker: false, onFatal: () => process.exit(1) }),
  clock,
  log: createLog({ level: config.logLevel }),
  environment: () => process.env,
  handlersModule: new URL(process.env["HANDLERS_MODULE"] ?? "", import.meta.url),
});
process.once("SIGTERM", () => void receiver.stop().then(() => process.exit(0)));
