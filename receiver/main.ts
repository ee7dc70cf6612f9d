#!/usr/bin/env node
import "../shared/node-version.ts";

// Imported after the check above: an older Node.js may fail at what the program imports.
await import("./program.ts");
