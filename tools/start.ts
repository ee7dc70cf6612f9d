import "../shared/node-version.ts";
import { existsSync } from "node:fs";
import { observeAddress } from "./start/observe-address.ts";

/** `npm start`: the service beside the reference receiver, which is asked what it did at the admin port of its settings. */
// The receiver reads the same file; what is set already stays.
if (existsSync(".env")) process.loadEnvFile(".env");
const observe = observeAddress(process.env);

process.argv.splice(
  2,
  0,
  "dev",
  "--quiet",
  ...(observe === undefined ? [] : ["--observe", observe]),
  "--command",
  "node receiver/main.ts",
);
await import("../simulator/main.ts");
