import { fileURLToPath } from "node:url";
import { isAbsolute, relative } from "node:path";

/** What is wrong with code that could not be loaded, in one line with its place; a place in your own files comes first. */
export function describeLoadError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = `${error.name}: ${error.message}`
    .replaceAll(/file:\/\/[^\s:]+/g, shortPath)
    .replaceAll(/\s+/g, " ");
  const places = placesOf(error);
  const place = places.find((one) => !one.includes("node_modules")) ?? places[0];
  return place === undefined || /:\d+:\d+/.test(text) || text.includes(place) ? text : `${text} (${place})`;
}

/** Where an error was thrown: `file:line:column` of `    at name (file:///x/y.ts:1:2)` or `file:///x/y.ts:3`, in order. */
export function placesOf(error: unknown): string[] {
  const lines = error instanceof Error ? (error.stack ?? "").split("\n") : [];
  return lines.flatMap((line) => {
    const text = line
      .trim()
      .replace(/^at (?:async )?/, "")
      .replace(/\)$/, "");
    const found = /^(file:\/\/.*?|\/.*?|[A-Z]:\\.*?)(:\d+(?::\d+)?)$/.exec(
      text.slice(text.lastIndexOf("(") + 1),
    );
    return found ? [`${shortPath(found[1] ?? "")}${found[2] ?? ""}`] : [];
  });
}

function shortPath(file: string): string {
  const path = file.startsWith("file:") ? fileURLToPath(file.replace(/[?#].*$/, "")) : file;
  const near = relative(process.cwd(), path);
  return near === "" || near.startsWith("..") || isAbsolute(near) ? path : near;
}
