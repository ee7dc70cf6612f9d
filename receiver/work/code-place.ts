import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { isAbsolute, relative, sep } from "node:path";

/** `file:line:column` of whoever called `callee`, as an editor opens it. */
export function callerOf(callee: (...rest: never[]) => unknown): string {
  const holder: { stack?: string } = {};
  Error.captureStackTrace(holder, callee);
  return placesIn(holder.stack ?? "")[0] ?? "unknown place";
}

/**
 * What is wrong with code that could not be loaded, in one line with the place: an error in the text of a file names it
 * in its message or before its stack, one that was thrown has it in its stack. Code of others comes last.
 */
export function describeLoadError(error: unknown, files: Iterable<string> = []): string {
  if (!(error instanceof Error)) return String(error);
  const text = `${error.name}: ${error.message}`.replaceAll(/file:\/\/[^\s:]+/g, shortPath);
  let places = placesIn(error.stack ?? "").filter((place) => !text.includes(place));
  // Where in an ES module such a mistake is, Node.js says only when it is told to check that file.
  for (const file of error instanceof SyntaxError ? [...files].toReversed() : []) {
    if (places.length > 0) break;
    places = placesIn(spawnSync(process.execPath, ["--check", file], { encoding: "utf8" }).stderr);
  }
  const own = places.find((place) => !place.includes("node_modules"));
  const at = /:\d+:\d+/.test(text) ? undefined : (own ?? places[0]);
  return at === undefined ? text : `${text} (${at})`;
}

/** In order: `    at name (file:///x/y.ts:1:2)`, and `file:///x/y.ts:3` above the line of a syntax error. */
function placesIn(stack: string): string[] {
  const found = stack.matchAll(/(file:\/\/[^\s()]+?|\B\/[^\s():]+|[A-Z]:\\[^\s():]+):(\d+)(:\d+)?(?=\)?$)/gm);
  return [...found].map(([, file = "", line = "", column = ""]) => `${shortPath(file)}:${line}${column}`);
}

function shortPath(file: string): string {
  const path = file.startsWith("file:") ? fileURLToPath(file.replace(/[?#].*$/, "")) : file;
  const near = relative(process.cwd(), path);
  return near === "" || near.startsWith(`..${sep}`) || isAbsolute(near) ? path : near;
}
