#!/usr/bin/env node
import "../shared/node-version.ts";
// Not by name: where an older Node.js lacks the name, the line above would not get to speak.
import module from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

// What Node.js compiled once it need not compile again: half of the time of a start. It works on what is loaded from
// here on, so the program is. Threads and the handlers' process learn of it from the environment.
const cache = (process.env["NODE_COMPILE_CACHE"] ??= join(tmpdir(), "node-compile-cache"));
module.enableCompileCache(cache);
await import("./program.ts");
