import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const ROOT = new URL("../../", import.meta.url);
const page = readFileSync(new URL("docs/simulator.md", ROOT), "utf8");

test("docs/simulator.md names files that there are", () => {
  const named = [...page.matchAll(/`((?:simulator|domain|control|library|dashboard)(?:\/[^`]+)?)`/g)].map(
    ([, path = ""]) => (path.startsWith("simulator") ? path : `simulator/${path}`),
  );
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((path) => !existsSync(new URL(path, ROOT)))).toEqual([]);
});
