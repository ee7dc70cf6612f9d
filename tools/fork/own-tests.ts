import { readFileSync } from "node:fs";
import { needsOf } from "./imports.ts";

/** What tests may import besides the fork's own dependencies. */
const TESTED_WITH = ["vitest", "fast-check"];

/**
 * The test files of a fork: each test of the receiver that needs only files of the fork, with its helpers. A slow test, or
 * one that needs a browser, another framework or the simulator, is left out.
 */
export function ownTests(
  kit: string,
  paths: readonly string[],
  { has, dependencies }: { has: (path: string) => boolean; dependencies: readonly string[] },
): Map<string, string> {
  const taken = new Map<string, string>();
  const tests = paths.filter((path) => path.endsWith(".test.ts") && !path.endsWith(".slow.test.ts"));
  for (const path of tests) {
    const files = reached(kit, path, { has, packages: [...TESTED_WITH, ...dependencies] });
    for (const [file, text] of files ?? []) taken.set(file, text);
  }
  return taken;
}

/** A test and all files that it names, with their texts; undefined if it names a file that forks do not have. */
function reached(
  kit: string,
  test: string,
  fork: { has: (path: string) => boolean; packages: readonly string[] },
): Map<string, string> | undefined {
  const found = new Map<string, string>();
  const waiting = [test];
  for (const path of waiting) {
    if (found.has(path) || fork.has(path)) continue;
    if (!/^test\/(?:receiver|shared|helpers|vectors)\//.test(path)) return undefined;
    const text = readFileSync(kit + path, "utf8");
    found.set(path, text);
    if (!/\.m?[jt]s$/.test(path)) continue;
    const { files, packages } = needsOf(path, text);
    if (packages.some((name) => !fork.packages.includes(name))) return undefined;
    waiting.push(...files);
  }
  return found;
}
