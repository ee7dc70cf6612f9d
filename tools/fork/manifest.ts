import { z } from "zod";
import { importsOf, packageOf } from "./imports.ts";

const versions = z.record(z.string(), z.string());

export const manifestSchema = z.looseObject({
  version: z.string(),
  dependencies: versions,
  devDependencies: versions,
  peerDependencies: versions,
  allowScripts: z.record(z.string(), z.boolean()),
  engines: versions,
  devEngines: z.looseObject({}),
});
export type Manifest = z.infer<typeof manifestSchema>;

/** The development packages of a fork: they check types and run tests. */
const DEVELOPED_WITH = ["typescript", "vitest", "@types/node"];

/** The package.json of a fork: ours, without what only the simulator and our own tests need. */
export function forkManifest(kit: Manifest, fork: { name: string; sources: ReadonlyMap<string, string> }) {
  const imported = new Set([...fork.sources.values()].flatMap(importsOf).map(packageOf));
  const wanted = (name: string) =>
    imported.has(name) || imported.has(name.replace("@types/", "")) || DEVELOPED_WITH.includes(name);
  const pick = (from: Record<string, string>) =>
    Object.fromEntries(Object.entries(from).filter(([name]) => wanted(name)));
  // Optional peer dependencies of the kit are dependencies of a fork that uses PostgreSQL.
  const serverPackages = Object.fromEntries(
    Object.entries(kit.devDependencies).filter(([name]) => name in kit.peerDependencies),
  );
  return {
    name: fork.name,
    version: "0.1.0",
    description: "Receives the webhooks of the voice agent service.",
    private: true,
    license: "UNLICENSED",
    type: "module",
    workspaces: ["tools/node"],
    scripts: {
      start: "node receiver/main.mjs",
      dev: "node receiver/main.mjs start --watch",
      receiver: "node receiver/main.mjs",
      test: "vitest run",
      check: "tsc --noEmit",
    },
    dependencies: { ...pick(kit.dependencies), ...pick(serverPackages) },
    devDependencies: without(pick(kit.devDependencies), serverPackages),
    devEngines: kit.devEngines,
    engines: kit.engines,
    allowScripts: { "better-sqlite3": false, esbuild: false, fsevents: false },
  };
}

function without(all: Record<string, string>, some: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(all).filter(([name]) => !(name in some)));
}

/** A package name that npm accepts, made from the folder's name. */
export function packageName(folder: string): string {
  const name = folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replaceAll(/^[._-]+|-+$/g, "");
  return name === "" ? "my-receiver" : name;
}
