import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import type { WatchedPage } from "./browser.ts";

/** For `openPage`: loads axe before any script of the page; it stays during navigation. */
export const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

type Violation = { id: string; nodes: { html: string }[] };

/** The rules about colours: the dark theme differs from the light one in nothing else. */
const OF_COLOURS = { runOnly: ["color-contrast", "link-in-text-block"] };
const BOTH = ["light", "dark"] as const;

/**
 * Checks the current page with all rules of axe in the light theme, and with those of colours in the dark one;
 * `exclude` names what is the same on every page.
 */
export async function expectAccessible(
  page: WatchedPage,
  {
    exclude = [],
    schemes = BOTH,
  }: { exclude?: readonly string[]; schemes?: readonly (typeof BOTH)[number][] } = {},
): Promise<void> {
  const context = JSON.stringify({ include: ["html"], exclude });
  for (const colorScheme of schemes) {
    const options = JSON.stringify({
      resultTypes: ["violations"],
      ...(colorScheme === "dark" ? OF_COLOURS : {}),
    });
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const violations = await page.evaluate<Violation[]>(
      `axe.run(${context}, ${options}).then(({ violations }) => violations)`,
    );
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join("\n  ")}`);
    expect(found, `${page.url()} in ${colorScheme}`).toEqual([]);
  }
}
