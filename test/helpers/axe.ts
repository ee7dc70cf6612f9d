import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import type { WatchedPage } from "./browser.ts";

/** For `openPage`: axe is there before any script of the page, and stays while one goes from page to page. */
export const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

type Violation = { id: string; nodes: { html: string }[] };

/** Looks at the page as it stands with all rules of axe, in the light and in the dark. */
export async function expectAccessible(page: WatchedPage): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const violations = await page.evaluate<Violation[]>(
      `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations)`,
    );
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join("\n  ")}`);
    expect(found, `${page.url()} in ${colorScheme}`).toEqual([]);
  }
}
