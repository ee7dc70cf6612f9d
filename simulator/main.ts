#!/usr/bin/env node
import process from "node:process";

// One after the other: an older Node.js may fail at what the program imports, so a newer one is looked for and the guard
// speaks before that is loaded.
await import("./newer-node.ts");
await import("../shared/node-version.ts");
const { endUnexpectedly, runCommands } = await import("./commands/program.ts");
process.on("uncaughtException", endUnexpectedly);
await runCommands(process.argv);
