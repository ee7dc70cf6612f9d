#!/usr/bin/env node
import "../shared/node-version.ts";
import { endUnexpectedly, runCommands } from "./commands/program.ts";

process.on("uncaughtException", endUnexpectedly);
await runCommands(process.argv);
