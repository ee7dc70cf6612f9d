import { fileURLToPath } from "node:url";
import { isAbsolute, relative, sep } from "node:path";

/** Longer lines of a stack name no place. */
const LONGEST_LINE = 1_000;

/** What is wrong with code that could not be loaded, in one line with its place; a place in your own files comes first. */
export function describeLoadError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = `${error.name}: ${error.message}`.replaceAll(/file:\/\/[^\s:]+/g, shortPath).replaceAll(/\s+/g, " ");
  const places = placesIn(error.stack ?? "");
  const place = places.find((one) => !one.includes("node_modules")) ?? places[0];
  return place === undefined || /:\d+:\d+/.test(text) || text.includes(place) ? text : `${text} (${place})`;
}

/** Of an error that was thrown: where, without its message, which may hold personal data. */
export function placeOf(error: unknown): string | undefined {
  return error instanceof Error ? placesIn(error.stack ?? "")[0] : undefined;
}

/** `file:line:column`, as an editor opens it, from `    at name (file:///x/y.ts:1:2)` or `file:///x/y.ts:3`, in order. */
function placesIn(stack: string): string[] {
  return stack.split("\n").flatMap((line) => {
    const text = line.slice(0, LONGEST_LINE).trim().replace(/^at (?:async )?/, "").replace(/\)$/, "");
    const found = /^(file:\/\/.*?|\/.*?|[A-Z]:\\.*?)(:\d+(?::\d+)?)$/.exec(text.slice(text.lastIndexOf("(") + 1));
    return found ? [`${shortPath(found[1] ?? "")}${found[2] ?? ""}`] : [];
  });
}

function shortPath(file: string): string {
  const path = file.startsWith("file:") ? fileURLToPath(file.replace(/[?#].*$/, "")) : file;
  const near = relative(process.cwd(), path);
  return near === "" || near.startsWith(`..${sep}`) || isAbsolute(near) ? path : near;
}
