import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { onTestFinished } from "vitest";
import { ROOT } from "../repository/files.ts";
import { type Example, EXAMPLES, pathOf } from "./receivers.ts";

/** An example and changes to it. Each `find` must occur exactly once, so that no change becomes outdated. */
export type Change = { of: string; changes: { find: string; replace: string }[] };

/** The example of that file. */
export function exampleOf({ of }: Change): Example {
  const example = EXAMPLES.find(({ file }) => file === of);
  if (example === undefined) throw new Error(`There is no example ${of}.`);
  return example;
}

/** Makes a changed copy of the example, deleted after the test. Returns its path. */
export function changedCopy(change: Change, finished: typeof onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), "changed-example-"));
  finished(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const source = readFileSync(pathOf(exampleOf(change)), "utf8");
  const path = join(folder, change.of);
  writeFileSync(path, change.changes.reduce(replaced, source));
  return path;
}

function replaced(text: string, { find, replace }: Change["changes"][number]): string {
  const parts = text.split(find);
  if (parts.length !== 2) throw new Error(`${JSON.stringify(find)} is there ${parts.length - 1} times.`);
  return parts.join(replace);
}
