#!/usr/bin/env node
import "../shared/node-version.ts";
import { enableCompileCache } from "node:module";

// What Node.js compiled once it need not compile again: half of the time of a start. It works on what is loaded from
// here on, so the program is.
enableCompileCache();
const { endUnexpectedly, runCommands } = await import("./commands/program.ts");
process.on("uncaughtException", endUnexpectedly);
await runCommands(process.argv);
