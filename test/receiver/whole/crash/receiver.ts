import { open } from "node:fs/promises";
import Database from "better-sqlite3";
import { systemClock as clock } from "../../../../receiver/clock.ts";
import { loadConfig } from "../../../../receiver/config.ts";
import { createLog } from "../../../../receiver/operations/log.ts";
import { startReceiver } from "../../../../receiver/receiver.ts";
import { openStore } from "../../../../receiver/store/open.ts";

/** The receiver with handlers that can be counted. It ends itself at the eighth time that it passes the point CRASH_AT. */
const loaded = loadConfig(process.env);
if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
const { config } = loaded;
const store = await openStore({ ...config, clock, isWorker: false, onFatal: () => process.exit(1) });

let passed = 0;
function pass(point: string): void {
  if (process.env["CRASH_AT"] === point && ++passed === 8) process.kill(process.pid, "SIGKILL");
}

const statements = Database.prototype;
const exec = Reflect.get(statements, "exec");
statements.exec = function execOrDie(sql: string) {
  if (sql === "COMMIT") pass("before-commit");
  return exec.call(this, sql);
};
const handle = await open("/dev/null");
const prototype = Object.getPrototypeOf(handle) as { datasync: () => Promise<void> };
const { datasync } = prototype;
await handle.close();
prototype.datasync = async function syncOrDie() {
  pass("before-sync");
  await datasync.call(this);
  pass("after-sync");
};

await startReceiver({
  config,
  store,
  clock,
  environment: () => process.env,
  log: createLog({ level: config.logLevel }),
  handlersModule: new URL("./deadly-handlers.mjs", import.meta.url),
});
