/** The file `name` beside the module at `moduleUrl`, with that module's extension: `.ts` from the sources, `.js` once built. */
export function siblingFile(moduleUrl: string, name: string): URL {
  return new URL(`./${name}${moduleUrl.endsWith(".ts") ? ".ts" : ".js"}`, moduleUrl);
}
