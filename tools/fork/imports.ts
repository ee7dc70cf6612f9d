/** What a TypeScript file imports, statically or not. */
export function importsOf(source: string): string[] {
  const found = source.matchAll(
    /^\s*(?:import|export)\s[^;"'`]*?\bfrom\s+["']([^"']+)["']|^\s*import\s+["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/gm,
  );
  return [...found].map(([, named, bare, dynamic]) => named ?? bare ?? dynamic ?? "");
}
