import { readdirSync, readFileSync } from "node:fs";

const FOLDER = new URL("../../docs/", import.meta.url);

/** The names of the pages of the documentation, as they come with the simulator. */
export function docsPages(): string[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith(".md"))
    .map((name) => name.slice(0, -".md".length))
    .toSorted();
}

/** A page of the documentation by its name; undefined where there is none of that name. */
export function docsPage(name: string): string | undefined {
  return docsPages().includes(name) ? readFileSync(new URL(`${name}.md`, FOLDER), "utf8") : undefined;
}
