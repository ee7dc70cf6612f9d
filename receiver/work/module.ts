import module from "node:module";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { siblingFile } from "../sibling-file.ts";
import type { OnDead } from "./attempt.ts";
import type { CreateServices, Handler } from "./handler.ts";

/**
 * Imports a module of handlers, receiver/handlers by default, and creates their services. `onFile` gets each file of yours
 * that is loaded, also before an error. Throws why they cannot be used.
 */
export async function loadHandlers(named: string | undefined, onFile?: (path: string) => void) {
  const file = new URL(named ?? siblingFile(import.meta.url, "../handlers/index"));
  // Registered only now: the receiver's own modules are loaded and cost nothing.
  if (/\.[cm]?tsx?$/.test(file.pathname)) {
    const [esm, cjs] = await Promise.all([import("tsx/esm/api"), import("tsx/cjs/api")]);
    esm.register();
    cjs.register();
  }
  const hooks = module.registerHooks({
    load: (url, context, next) => {
      if (url.startsWith("file:") && !url.includes("/node_modules/"))
        onFile?.(fileURLToPath(url.replace(/[?#].*$/, "")));
      return next(url, context);
    },
  });
  const exported = moduleSchema.safeParse(await import(file.href).finally(() => hooks.deregister()));
  if (!exported.success) throw new TypeError(`${fileURLToPath(file)}: ${z.prettifyError(exported.error)}`);
  const { handlers, createServices, onDead } = exported.data;
  refuseEqualNames(handlers);
  const created = await createServices?.();
  return { handlers, onDead, services: created?.services, close: async () => created?.close?.() };
}

/** Throws if two handlers have one name: their jobs are stored under it. */
export function refuseEqualNames(handlers: readonly Handler[]): void {
  const names = handlers.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw new TypeError(`Two handlers are called "${twice}". Rename one of them.`);
}

export const functionOf = <Signature>() =>
  z.custom<Signature>((value) => typeof value === "function", "must be a function");
const definedSchema = z.object({ name: z.string(), parse: functionOf() });

export const handlersSchema = z.array(
  z.custom<Handler>((value) => definedSchema.safeParse(value).success, "must be made by defineHandler()"),
  "must be an export: a list of what defineHandler() returned",
);
const moduleSchema = z.object({
  handlers: handlersSchema,
  createServices: functionOf<CreateServices>().optional(),
  onDead: functionOf<OnDead>().optional(),
});
