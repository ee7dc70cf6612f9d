import { statSync } from "node:fs";
import module from "node:module";
import { isAbsolute, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { OnDead } from "./attempt.ts";
import type { CreateServices, Handler } from "./handler.ts";

/**
 * Imports a module of handlers, receiver/handlers by default, and creates their services. Calls `onFile` with each of your
 * files that is loaded, even before an error. Throws if they cannot be used.
 */
export async function loadHandlers(named: string | undefined, onFile?: (path: string) => unknown) {
  const file = new URL(named ?? siblingFile(import.meta.url, "../handlers/index"));
  // Registered only now, since the receiver's own modules are already loaded.
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

/** When a file was last changed, in ms; 0 if it cannot be found. */
export function changedAtMs(file: string): number {
  try {
    return statSync(file).mtimeMs;
  } catch {
    return 0;
  }
}

/** Throws if two handlers have the same name: their jobs are stored under it. */
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

/** The file `name` beside the module at `moduleUrl`, with that module's extension: `.ts` from the sources, `.js` once built. */
export function siblingFile(moduleUrl: string, name: string): URL {
  return new URL(`./${name}${moduleUrl.endsWith(".ts") ? ".ts" : ".js"}`, moduleUrl);
}

/** A load error in one line with its position, preferably in your own files. */
export function describeLoadError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = `${error.name}: ${error.message}`
    .replaceAll(/file:\/\/[^\s:]+/g, shortPath)
    .replaceAll(/\s+/g, " ");
  const places = placesOf(error);
  const place = places.find((one) => !one.includes("node_modules")) ?? places[0];
  return place === undefined || /:\d+:\d+/.test(text) || text.includes(place) ? text : `${text} (${place})`;
}

const PLACE = /(?:^|[\s(])((?:file:\/\/|\/|[A-Z]:\\)[^()\n]*?)(:\d+(?::\d+)?)\)?$/gm;

/** The positions in an error's stack, `file:line:column`, in order. */
export function placesOf(error: unknown): string[] {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  return [...stack.matchAll(PLACE)].map(([, file = "", place = ""]) => shortPath(file) + place);
}

function shortPath(file: string): string {
  const path = file.startsWith("file:") ? fileURLToPath(file.replace(/[?#].*$/, "")) : file;
  const near = relative(process.cwd(), path);
  return near === "" || near.startsWith("..") || isAbsolute(near) ? path : near;
}
