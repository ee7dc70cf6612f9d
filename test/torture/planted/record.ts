import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import * as z from "zod";
import type { PlantedBug } from "./planted-bug.ts";

const FILE = "node_modules/.cache/planted.json";

const verdictSchema = z.enum(["caught", "survived", "misfit"]);

/**
 * `caught`: a test failed. `survived`: all passed. `misfit`: the bug can't be judged, because its text no longer stands
 * in the file, the tests fail without it too, or none ran.
 */
export type Verdict = z.infer<typeof verdictSchema>;

/** What was found about each bug, kept for as long as neither the code nor the tests named with it change. */
export function createRecord({ forget }: { forget: boolean }): {
  find: (bug: PlantedBug) => Verdict | undefined;
  keep: (bug: PlantedBug, verdict: Verdict) => void;
} {
  if (forget) rmSync(FILE, { force: true });
  const found = existsSync(FILE)
    ? z.record(z.string(), verdictSchema).parse(JSON.parse(readFileSync(FILE, "utf8")))
    : {};
  return {
    find: (bug) => found[keyOf(bug)],
    keep: (bug, verdict) => {
      // One that doesn't fit is mended next, and tried again.
      if (verdict === "misfit") return;
      found[keyOf(bug)] = verdict;
      mkdirSync(dirname(FILE), { recursive: true });
      writeFileSync(FILE, JSON.stringify(found));
    },
  };
}

function keyOf(bug: PlantedBug): string {
  const hash = createHash("sha256").update(JSON.stringify([bug.file, bug.find, bug.replace, bug.tests]));
  for (const file of [bug.file, ...bug.tests]) if (existsSync(file)) hash.update(readFileSync(file));
  return hash.digest("hex");
}
