import { posix } from "node:path";

/** The imports of a TypeScript file, static and dynamic. */
export function importsOf(source: string): string[] {
  const found = source.matchAll(
    /^\s*(?:import|export)\s[^;"'`]*?\bfrom\s+["']([^"']+)["']|^\s*import\s+["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/gm,
  );
  return [...found].map(([, named, bare, dynamic]) => named ?? bare ?? dynamic ?? "");
}

/** The files that a TypeScript file imports or starts by their paths, and the packages that it imports. */
export function needsOf(path: string, source: string): { files: string[]; packages: string[] } {
  const started = source.matchAll(/new URL\(\s*["'](\.[^"']*\.[a-z]+)["'],\s*import\.meta\.url/g);
  const named = [...importsOf(source), ...[...started].map(([, file]) => file ?? "")];
  return {
    files: named.filter((name) => name.startsWith(".")).map((name) => posix.join(posix.dirname(path), name)),
    packages: named.filter((name) => !/^(?:\.|node:)/.test(name)).map(packageOf),
  };
}

/** The package that an import names. */
export function packageOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}
