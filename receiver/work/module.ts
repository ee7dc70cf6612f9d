import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { siblingFile } from "../sibling-file.ts";
import type { CreateServices, Handler, OnDead } from "./handler.ts";

/**
 * Imports a module of handlers, receiver/handlers by default, and creates their services. `onFile` gets each file of yours
 * that is loaded, also before an error. Throws why they cannot be used.
 */
export async function loadHandlers(
  named: URL | string | undefined,
  onFile: (path: string) => void = () => undefined,
) {
  const module = new URL(named ?? siblingFile(import.meta.url, "../handlers/index"));
  if (/\.[cm]?tsx?$/.test(module.pathname)) await understandTypeScript(module);
  // By name it could not be imported on an older Node.js, which then could not print which version is needed.
  const hooks = process.getBuiltinModule("node:module").registerHooks({
    load: (url, context, next) => {
      if (url.startsWith("file:") && !url.includes("/node_modules/"))
        onFile(fileURLToPath(url.replace(/[?#].*$/, "")));
      return next(url, context);
    },
  });
  const exported = moduleSchema.safeParse(await import(module.href).finally(() => hooks.deregister()));
  if (!exported.success) {
    const problems = exported.error.issues.map((issue) => `${issue.path.join(".")} ${issue.message}`);
    throw new TypeError(`${fileURLToPath(module)}: ${problems.join("; ")}`);
  }
  const { handlers, createServices, onDead } = exported.data;
  refuseEqualNames(handlers);
  const created = await createServices?.();
  return { handlers, onDead, services: created?.services, close: async () => created?.close?.() };
}

/** Throws if two handlers have one name: their jobs are stored under it. */
export function refuseEqualNames(handlers: readonly Handler[]): void {
  const names = new Set<string>();
  for (const { name } of handlers) {
    if (names.has(name)) throw new TypeError(`Two handlers are called "${name}". Rename one of them.`);
    names.add(name);
  }
}

/** Enums, decorators, parameter properties, `paths` of the nearest tsconfig.json: for modules that are imported from now on. */
async function understandTypeScript(module: URL): Promise<void> {
  // Other users of the machine could write into its cache.
  process.env["TSX_DISABLE_CACHE"] ??= "1";
  process.env["TSX_TSCONFIG_PATH"] ??= nearestTsconfig(fileURLToPath(module)) ?? "";
  const [esm, cjs] = await Promise.all([import("tsx/esm/api"), import("tsx/cjs/api")]);
  esm.register();
  cjs.register();
}

function nearestTsconfig(path: string): string | undefined {
  const folder = dirname(path);
  const file = join(folder, "tsconfig.json");
  if (existsSync(file)) return file;
  return folder === path ? undefined : nearestTsconfig(folder);
}

/** A function that an export or a definition holds. */
const functionOf = <Signature>() =>
  z.custom<Signature>((value) => typeof value === "function", "must be a function.");

const moduleSchema = z.object({
  handlers: z.array(
    z.custom<Handler>(
      (value) => z.object({ name: z.string(), parse: functionOf() }).safeParse(value).success,
      "is not made by defineHandler().",
    ),
    "must be an export: a list of what defineHandler() returned.",
  ),
  createServices: functionOf<CreateServices>().optional(),
  onDead: functionOf<OnDead>().optional(),
});
