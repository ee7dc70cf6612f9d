import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { sharedProgram } from "./run/shared-program.ts";

/**
 * The frameworks of `examples/mounted`, which are installed for the first test that wants them. Where no registry can be
 * reached, prints so and returns undefined.
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
