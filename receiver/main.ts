#!/usr/bin/env node
import "../shared/node-version.ts";
import module from "node:module";
import path from "node:path";

// Node.js keeps compiled code for the next start of this process, its threads and the handlers' process: without it each of
// them loads the compiler of TypeScript, which takes 35 MB and a tenth of a second. It is kept beside the packages, where no
// other user may write; nowhere, if this one may not. NODE_COMPILE_CACHE and NODE_DISABLE_COMPILE_CACHE come first.
const manifest = module.findPackageJSON(import.meta.url);
if (manifest !== undefined) {
  const compiled = path.join(path.dirname(manifest), "node_modules/.cache/compiled");
  if (module.enableCompileCache(compiled).status === module.constants.compileCacheStatus.ENABLED)
    process.env["NODE_COMPILE_CACHE"] = compiled;
}

// Imported after the check above: an older Node.js may fail at what the program imports.
await import("./program.ts");
