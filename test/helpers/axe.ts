import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import type { WatchedPage } from "./browser.ts";

/** For `openPage`: axe is there before any script of the page, and stays while one goes from page to page. */
export const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

type Violation = { id: string; nodes: { html: string }[] };

/** What the dark differs in from the light: colours. */
const OF_COLOURS = { runOnly: ["color-contrast", "link-in-text-block"] };
const BOTH = ["light", "dark"] as const;

/**
 * Looks at the page as it stands with all rules of axe in the light, and with those of colours in the dark; `exclude`
 * names what is the same on every page.
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
