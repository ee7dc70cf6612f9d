#!/usr/bin/env node
import "../shared/node-version.ts";
// Not by name: where an older Node.js lacks the name, the line above would not get to speak.
import module from "node:module";

// What Node.js compiled once it need not compile again: half of the time of a start. It works on what is loaded from
// here on, so the program is.
module.enableCompileCache();
const { endUnexpectedly, runCommands } = await import("./commands/program.ts");
process.on("uncaughtException", endUnexpectedly);
await runCommands(process.argv);
