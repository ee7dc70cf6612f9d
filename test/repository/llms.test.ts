import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { filesOf, ROOT } from "./files.ts";

const linksOf = (text: string) => [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);

test("llms.txt lists every page of the documentation, by its title, and nothing that is not there", () => {
  const text = filesOf(/^llms\.txt$/).get("llms.txt") ?? "";
  expect(linksOf(text).filter((target) => !existsSync(ROOT + target))).toEqual([]);
  const missing = [...filesOf(/^docs\/[^/]+\.md$/)].filter(([path, page]) => {
    const [, title = path] = /^# (.+)$/m.exec(page) ?? [];
    return !text.includes(`[${title}](${path})`);
  });
  expect(missing.map(([path]) => path)).toEqual([]);
});
