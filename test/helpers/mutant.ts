import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** One change of the source that breaks a promise. `find` must be there exactly once, so that no mutant goes stale. */
export type Mutation = { file: string; find: string; replace: string };

/** A copy of the project's source with `mutations` in it, gone when the test is over. Answers its folder. */
export function mutant(mutations: readonly Mutation[]): string {
  const folder = mkdtempSync(join(tmpdir(), "mutant-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const part of [
    "shared",
    "simulator",
    "test/simulator/simulation",
    "test/helpers",
    "package.json",
    "tsconfig.json",
  ]) {
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  for (const { file, find, replace } of mutations) {
    const path = join(folder, file);
    const parts = readFileSync(path, "utf8").split(find);
    if (parts.length !== 2)
      throw new Error(`${file} holds ${JSON.stringify(find)} ${parts.length - 1} times.`);
    writeFileSync(path, parts.join(replace));
  }
  return folder;
}
