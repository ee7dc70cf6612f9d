#!/usr/bin/env node
import module from "node:module";
import path from "node:path";
import process from "node:process";

// First: an older Node.js may fail at what the program imports.
(await import("../shared/node-version.ts")).endOnOldNode();
// Keeps compiled code beside the packages, where no other user can write: the next command starts twice as fast. It does not
// affect programs of the user; NODE_COMPILE_CACHE and NODE_DISABLE_COMPILE_CACHE take precedence. Deno has no such cache.
const manifest = "enableCompileCache" in module ? module.findPackageJSON(import.meta.url) : undefined;
if (manifest !== undefined)
  module.enableCompileCache(path.join(path.dirname(manifest), "node_modules/.cache/compiled"));
const { endUnexpectedly, runCommands } = await import("./commands/program.ts");
process.on("uncaughtException", endUnexpectedly);
await runCommands(process.argv);
