import { filesOf } from "../repository/files.ts";

/** A fenced block of a page: its language (empty if none), its text and its place. */
export type Block = { page: string; heading: string; line: number; language: string; text: string };

/** The users' pages, by path. Decisions are left out: they are history and may name deleted things. */
export const PAGES = filesOf(/^(?:[^/]+|docs\/[^/]+|(?:examples|receiver|simulator)(?:\/.*)?\/[^/]+)\.md$/);

/** A page that must exist. */
export function pageAt(path: string): string {
  const page = PAGES.get(path);
  if (page === undefined) throw new Error(`There is no page ${path}.`);
  return page;
}

/** Every fenced block of a page, without the indentation that it has as part of a list. */
export function blocksOf(path: string, page = pageAt(path)): Block[] {
  const blocks: Block[] = [];
  const lines = page.split("\n");
  let heading = "";
  for (let at = 0; at < lines.length; at += 1) {
    heading = /^#+ (.+)$/.exec(lines[at] ?? "")?.[1] ?? heading;
    const [, indentation, language = ""] = /^( *)```(\S*)/.exec(lines[at] ?? "") ?? [];
    if (indentation === undefined) continue;
    const end = lines.indexOf(`${indentation}\`\`\``, at + 1);
    if (end === -1) throw new Error(`${path}:${String(at + 1)}: a block that does not end`);
    const text = lines.slice(at + 1, end).map((line) => line.slice(indentation.length));
    blocks.push({ page: path, heading, line: at + 1, language, text: `${text.join("\n")}\n` });
    at = end;
  }
  return blocks;
}

/** The only block of that language under a heading. */
export function blockUnder(path: string, heading: string, language: string, place = 0): string {
  const found = blocksOf(path).filter((one) => one.heading === heading && one.language === language);
  const block = found[place];
  if (block === undefined) throw new Error(`${path} has no ${language} under ${heading}.`);
  return block.text;
}

/** A page without its code. */
export function withoutCode(page: string): string {
  return page.replaceAll(/^ *```[^]*?^ *```$/gm, "").replaceAll(/`[^`\n]*`/g, "");
}

/** The anchors that GitHub gives the headings of a page. */
export function anchorsOf(page: string): string[] {
  return [...page.replaceAll(/^ *```[^]*?^ *```$/gm, "").matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

/** Where the links of a page lead, relative to it. */
export function linksOf(page: string): string[] {
  return [...withoutCode(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
}
