import { existsSync } from "node:fs";
import { posix } from "node:path";
import { expect, test } from "vitest";
import { RULES } from "../../simulator/verify/rules.ts";
import { filesOf, ROOT } from "../repository/files.ts";
import { anchorsOf, blocksOf, linksOf, PAGES } from "./pages.ts";

const everyPage = filesOf(/\.md$|^llms\.txt$/);
const links = [...everyPage].flatMap(([path, page]) =>
  linksOf(page)
    .filter((target) => !/^(?:https?:|mailto:)/.test(target))
    .map((target) => ({ path, target })),
);
const written = (some: typeof links): string[] => some.map(({ path, target }) => `${path}: ${target}`);

test("each link from page to page leads to a file of the project", () => {
  const dead = links.filter(({ path, target }) => {
    const file = posix.join(posix.dirname(path), target.replace(/#.*/, ""));
    return file.startsWith("..") || !existsSync(ROOT + file);
  });
  expect(written(dead)).toEqual([]);
});

test("each link to a part of a page names a heading that it has", () => {
  const dead = links.filter(({ path, target }) => {
    const [file = "", anchor] = target.split("#");
    const page = everyPage.get(file === "" ? path : posix.join(posix.dirname(path), file));
    return anchor !== undefined && page !== undefined && !anchorsOf(page).includes(anchor);
  });
  expect(written(dead)).toEqual([]);
});

test("each page of docs/ is linked from the first one, and in llms.txt", () => {
  const docs = [...PAGES.keys()].filter((path) => path.startsWith("docs/") && path !== "docs/README.md");
  const linked = (from: string): string[] =>
    links
      .filter(({ path }) => path === from)
      .map(({ path, target }) => posix.join(posix.dirname(path), target));
  for (const from of ["docs/README.md", "llms.txt"])
    expect(docs.filter((path) => !linked(from).includes(path))).toEqual([]);
});

test("each rule that verify cites is explained where it says", () => {
  const dead = [...RULES.values()].filter(({ page }) => {
    const [file = "", anchor = ""] = page.split("#");
    return !anchorsOf(PAGES.get(file) ?? "").includes(anchor);
  });
  expect(dead.map(({ page }) => page)).toEqual([]);
});

test("control: blocks of code are found with their place, also within a list", () => {
  const page = "# A\n\n1. do\n\n   ```sh\n   a \\\n     b\n   ```\n\n## B\n\n```json\n{}\n```\n";
  expect(blocksOf("x.md", page)).toEqual([
    { page: "x.md", heading: "A", line: 5, language: "sh", text: "a \\\n  b\n" },
    { page: "x.md", heading: "B", line: 12, language: "json", text: "{}\n" },
  ]);
});
