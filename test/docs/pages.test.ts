import { existsSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, test } from "vitest";
import { RETRY_DELAYS_SECONDS } from "../../shared/retry-policy.ts";
import { RULES } from "../../simulator/verify/rules.ts";
import { filesOf, ROOT } from "../repository/files.ts";
import { anchorsOf, blocksOf, blockUnder, linksOf, pageAt, PAGES, withoutCode } from "./pages.ts";

/** What fits into one question; tables that list everything there is do not count. */
const MOST_LINES = 200;

const everyPage = filesOf(/\.md$/);
const docs = [...PAGES.keys()].filter((path) => path.startsWith("docs/"));

test("each decision has a number of its own", () => {
  const numbers = [...everyPage.keys()].flatMap((path) => /^docs\/decisions\/(\d{4})-/.exec(path)?.[1] ?? []);
  expect(numbers.length).toBeGreaterThan(20);
  expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual([]);
});

describe("links", () => {
  const links = [...everyPage].flatMap(([path, page]) =>
    linksOf(page)
      .filter((target) => !/^(?:https?:|mailto:)/.test(target))
      .map((target) => ({ path, target })),
  );

  test("from page to page lead somewhere", () => {
    const dead = links.filter(({ path, target }) => {
      const file = posix.join(posix.dirname(path), target.replace(/#.*/, ""));
      return file.startsWith("..") || !existsSync(ROOT + file);
    });
    expect(dead.map(({ path, target }) => `${path}: ${target}`)).toEqual([]);
  });

  test("to a part of a page name a heading that it has", () => {
    const dead = links.filter(({ path, target }) => {
      const [file = "", anchor] = target.split("#");
      const page = everyPage.get(file === "" ? path : posix.join(posix.dirname(path), file));
      return anchor !== undefined && page !== undefined && !anchorsOf(page).includes(anchor);
    });
    expect(dead.map(({ path, target }) => `${path}: ${target}`)).toEqual([]);
    expect(links.filter(({ target }) => target.includes("#")).length).toBeGreaterThan(20);
  });
});

describe("the pages", () => {
  test("are all linked from the start page, and it from the README", () => {
    const linked = linksOf(pageAt("docs/README.md")).map((target) => posix.join("docs", target));
    expect(docs.filter((path) => path !== "docs/README.md" && !linked.includes(path))).toEqual([]);
    expect(linksOf(pageAt("README.md"))).toContain("docs/README.md");
  });

  test("ask one question each, by which the start page names them", () => {
    const start = pageAt("docs/README.md");
    const others = docs.filter((path) => !path.endsWith("/README.md"));
    const questions = others.map((path) => pageAt(path).split("\n")[0]?.replace("# ", "") ?? "");
    expect(questions.filter((question) => !question.endsWith("?") || !start.includes(question))).toEqual([]);
  });

  test("lead on to others", () => {
    const alone = docs.filter((path) => linksOf(pageAt(path)).length === 0);
    expect(alone).toEqual([]);
  });

  test(`are no longer than ${MOST_LINES} lines beside their tables and examples`, () => {
    const long = docs.filter(
      (path) =>
        pageAt(path)
          .replaceAll(/^```ts\n[^]*?^```$/gm, "")
          .split("\n")
          .filter((line) => !line.startsWith("|")).length > MOST_LINES,
    );
    expect(long).toEqual([]);
  });
});

describe("rules that verify cites", () => {
  const cited = Object.values(RULES);

  test("are explained where it says", () => {
    const dead = cited.filter(({ page }) => {
      const [file = "", anchor = ""] = page.split("#");
      return !anchorsOf(PAGES.get(file) ?? "").includes(anchor);
    });
    expect(dead.map(({ page }) => page)).toEqual([]);
    expect(cited.length).toBeGreaterThan(10);
  });

  test("are cited with the section that they come from, and no part that explains them is empty", () => {
    expect(cited.filter(({ section }) => !/^(?:SPEC §\d|RFC )/.test(section))).toEqual([]);
    const empty = cited.filter(({ page }) => {
      const [file = "", anchor = ""] = page.split("#");
      const parts = withoutCode(pageAt(file)).split(/^#+ /m);
      const part = parts.find((text) => anchorsOf(`# ${text}`)[0] === anchor) ?? "";
      return part.split("\n").slice(1).join("").trim().length < 40;
    });
    expect(empty.map(({ page }) => page)).toEqual([]);
  });
});

describe("docs/architecture.md", () => {
  test("draws the states of a job as the engine does", () => {
    const drawing = (text: string): string => text.replaceAll(/^[ *]+/gm, "").trim();
    const [, comment = ""] =
      /Life cycle of a job.*\n \*\n([^]*?)\n \*\n/.exec(
        filesOf(/^receiver\/engine\.ts$/).get("receiver/engine.ts") ?? "",
      ) ?? [];
    expect(drawing(blockUnder("docs/architecture.md", "The states of a job", "text"))).toBe(drawing(comment));
  });

  test("draws the pauses of a delivery as the retry policy has them", () => {
    const drawn = blockUnder("docs/architecture.md", "The states of a delivery", "text");
    const unit = { min: 60, h: 3_600 };
    const seconds = [...drawn.matchAll(/(\d+) (min|h)\b/g)].map(
      ([, count, name]) => Number(count) * unit[name as keyof typeof unit],
    );
    expect(seconds).toEqual(RETRY_DELAYS_SECONDS.slice(1));
  });

  test("names files that there are", () => {
    const named = [
      ...pageAt("docs/architecture.md").matchAll(/`((?:receiver|simulator|shared)\/[^`]*)`/g),
    ].map(([, path = ""]) => path);
    expect(named.length).toBeGreaterThan(8);
    expect(named.filter((path) => !existsSync(ROOT + path))).toEqual([]);
  });
});

describe("blocks of code", () => {
  test("are found with their place, also within a list", () => {
    const page = "# A\n\n1. do\n\n   ```sh\n   a \\\n     b\n   ```\n\n## B\n\n```json\n{}\n```\n";
    expect(blocksOf("x.md", page)).toEqual([
      { page: "x.md", heading: "A", line: 5, language: "sh", text: "a \\\n  b\n" },
      { page: "x.md", heading: "B", line: 12, language: "json", text: "{}\n" },
    ]);
  });
});

test("every page on which something is installed says first which Node.js it needs", () => {
  const installs =
    /npm ci && npm start|npm install --save-dev \.\.|npx (?:--yes|file:)|"voice-agent-webhook-kit\/\w+"/;
  const silent = [...PAGES].filter(([path, page]) => {
    const [before = ""] = page.split(/^##+ /m);
    return installs.test(page) && path !== "CHANGELOG.md" && !/Node\.js\s(?:20|22\.1\d)/.test(before);
  });
  expect(silent.map(([path]) => path)).toEqual([]);
});
