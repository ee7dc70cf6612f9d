import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { sharedProgram } from "./run/shared-program.ts";

/**
 * Installs the frameworks of `examples/mounted` for the first test that needs them. If no registry can be reached,
 * prints that and returns undefined.
 */
export async function mountedPackages(): Promise<
  { load: <Module>(name: string) => Promise<Module> } | undefined
> {
  try {
    const { resolve } = createRequire(`${await sharedProgram("mounted")}/`);
    return {
      load: async <Module>(name: string) => (await import(pathToFileURL(resolve(name)).href)) as Module,
    };
  } catch (error) {
    console.log(`skipped: ${String(error)}`);
    return undefined;
  }
}
