import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { siblingFile } from "../sibling-file.ts";
import type { CreateServices, Handler } from "./handler.ts";

/**
 * Imports a module of handlers, receiver/handlers unless another is named, with any TypeScript in it, and makes the services
 * that they need. `onFile` is told each file of your own that is loaded, also those before a broken one.
 * Throws where it cannot be used.
 */
export async function startHandlers(
  named: URL | string | undefined,
  onFile: (path: string) => void = () => undefined,
) {
  const module = new URL(named ?? siblingFile(import.meta.url, "../handlers/index"));
  if (/\.[cm]?tsx?$/.test(module.pathname)) await understandTypeScript(module);
  // Not imported by name: an older Node.js lacks the name, and would fail before it is told what to install.
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
  const { handlers, createServices } = exported.data;
  checkNames(handlers);
  const made = await createServices?.();
  return { handlers, services: made?.services, close: async () => made?.close?.() };
}

/** Throws where two handlers have the same name: a job belongs to its handler by name. */
export function checkNames(handlers: readonly Handler[]): void {
  const byName = new Map<string, Handler>();
  for (const handler of handlers) {
    const other = byName.get(handler.name);
    if (other)
      throw new TypeError(
        `two handlers are called "${handler.name}": ${other.definedAt} and ${handler.definedAt}. Give one of them another name.`,
      );
    byName.set(handler.name, handler);
  }
}

/**
 * What Node.js alone does not run: enums, decorators, parameter properties, `paths` of the nearest tsconfig.json. What is
 * loaded already stays as it is, so the receiver's own modules cost nothing.
 */
async function understandTypeScript(module: URL): Promise<void> {
  // Its cache would lie where other users of the machine can write.
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

export const handlerSchema = z.custom<Handler>(
  (value) =>
    z.object({ name: z.string(), parse: z.function(), definedAt: z.string() }).safeParse(value).success,
  "is not made by defineHandler().",
);

const moduleSchema = z.object({
  handlers: z.array(handlerSchema, "must be an export: a list of what defineHandler() made."),
  createServices: z
    .custom<CreateServices>((value) => typeof value === "function", "must be a function.")
    .optional(),
});
