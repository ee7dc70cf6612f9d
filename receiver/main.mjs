#!/usr/bin/env node
import module from "node:module";
import path from "node:path";

// JavaScript, because a program that starts in TypeScript loads the compiler every time: 35 MB and a tenth of a second. All
// other modules are kept compiled for the next start, beside the packages, where no other user can write. If this user cannot
// write there either, nothing is kept. NODE_COMPILE_CACHE and NODE_DISABLE_COMPILE_CACHE take precedence. Deno has no such
// cache.
const manifest = "enableCompileCache" in module ? module.findPackageJSON?.(import.meta.url) : undefined;
if (manifest !== undefined) {
  const compiled = path.join(path.dirname(manifest), "node_modules/.cache/compiled");
  if (module.enableCompileCache(compiled).status === module.constants.compileCacheStatus.ENABLED)
    process.env["NODE_COMPILE_CACHE"] = compiled;
}

// Checked first: on a Node.js that is too old, the next import would fail with an unrelated error. One that is older still
// cannot even read the check.
const { endOnOldNode } = await import("../shared/node-version.ts").catch((error) => {
  if (error.code !== "ERR_UNKNOWN_FILE_EXTENSION") throw error;
  process.stderr.write(
    `Node.js ${process.versions.node} cannot run TypeScript. Install Node.js 24, or use npm start.\n`,
  );
  process.exit(78);
});
endOnOldNode();
await import("./main.ts");
