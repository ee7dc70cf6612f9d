import { readFileSync } from "node:fs";
import module from "node:module";
import { z } from "zod";

/** The version of the package that this file lies in: the kit's, or that of a fork. */
export function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(module.findPackageJSON(import.meta.url) ?? "", "utf8"));
  return z.object({ version: z.string().default("unknown") }).parse(manifest).version;
}
