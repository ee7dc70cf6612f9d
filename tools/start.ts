import "./node-version.ts";
import { readEnvironment } from "../receiver/config.ts";
import { observeAddress } from "./start/observe-address.ts";

/**
 * `npm start`: the service and the reference receiver, whose admin port reports what it handled. `npm run dev` restarts its
 * handlers whenever they change.
 */
const settings = readEnvironment(process.env);
// The receiver reads the rest of the file itself, again after each change.
for (const name of ["PORT", "SIGNING_SECRET"]) if (settings[name]) process.env[name] = settings[name];
const observe = observeAddress(settings);

if (observe !== undefined && !process.argv.includes("--help"))
  process.stdout.write(`The operator's page: http://localhost:${new URL(observe).port}/\n`);
const watches = process.argv[2] === "--watch";
const observed = observe === undefined ? [] : ["--observe", observe];
process.argv.splice(2, watches ? 1 : 0, "dev", "--quiet", ...observed);
// By its path: the user's node may be too old.
process.argv.push("--", process.execPath, "receiver/main.mjs", "start", ...(watches ? ["--watch"] : []));
await import("../simulator/main.ts");
