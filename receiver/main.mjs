#!/usr/bin/env node
import module from "node:module";
import path from "node:path";

// JavaScript, for a program that begins in TypeScript loads its compiler each time: 35 MB, and a tenth of a second. What
// comes after is kept compiled for the next start of this process, its threads and the handlers' process: beside the
// packages, where no other user may write; nowhere, if this one may not. NODE_COMPILE_CACHE and NODE_DISABLE_COMPILE_CACHE
// come first.
const manifest = module.findPackageJSON?.(import.meta.url);
if (manifest !== undefined) {
  const compiled = path.join(path.dirname(manifest), "node_modules/.cache/compiled");
  if (module.enableCompileCache(compiled).status === module.constants.compileCacheStatus.ENABLED)
    process.env["NODE_COMPILE_CACHE"] = compiled;
}

// One by one: an older Node.js is told so by the first, and may fail at what the second imports.
await import("../shared/node-version.ts");
await import("./program.ts");
