import { readdirSync, readFileSync } from "node:fs";

const FOLDER = new URL("../../docs/", import.meta.url);

/** The names of the pages of the documentation, as they come with the simulator. */
export function docsPages(): string[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith(".md"))
    .map((name) => name.slice(0, -".md".length))
    .toSorted();
}

/** A page of the documentation by its name, or by a link of another page to it; undefined where there is none. */
export function docsPage(link: string): string | undefined {
  const name = link
    .replace(/#.*$/, "")
    .replace(/^docs\//, "")
    .replace(/\.md$/, "");
  return docsPages().includes(name) ? readFileSync(new URL(`${name}.md`, FOLDER), "utf8") : undefined;
}
