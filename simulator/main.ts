#!/usr/bin/env node
import "../shared/node-version.ts";
import { runCommands } from "./commands/program.ts";

await runCommands(process.argv);
