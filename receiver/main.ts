#!/usr/bin/env node
import "../shared/node-version.ts";

// Imported once the line above has spoken: an older Node.js may fail at what the program imports.
await import("./program.ts");
