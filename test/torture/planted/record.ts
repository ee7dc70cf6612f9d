import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import * as z from "zod";
import { createNotebook } from "../notebook.ts";
import type { PlantedBug } from "./planted-bug.ts";

const verdictSchema = z.enum(["caught", "survived", "misfit"]);

/**
 * `caught`: a test failed. `survived`: all passed. `misfit`: the bug can't be judged, because its text no longer stands
 * in the file, the tests fail without it too, or none ran.
 */
export type Verdict = z.infer<typeof verdictSchema>;

const findingSchema = z.object({ key: z.string(), verdict: verdictSchema, commit: z.string() });

/** A verdict, and the commit at which it was seen. */
export type Finding = z.infer<typeof findingSchema>;

/**
 * What was found about each bug, kept for as long as neither the code nor the tests named with it change, whatever else
 * does. Every checkout of the project on this machine reads the same.
 */
export function createRecord(options: { commit: string; forget: boolean; folder?: string }): {
  find: (bug: PlantedBug) => Finding | undefined;
  keep: (bug: PlantedBug, verdict: Verdict) => Finding;
} {
  const { commit, forget, folder } = options;
  const notebook = createNotebook("planted", findingSchema, folder);
  const found = new Map(forget ? [] : notebook.read().map((finding) => [finding.key, finding]));
  // Of the code as the copies have it: a file may be edited while its bug is tried.
  const keys = new Map<PlantedBug, string>();
  const keyOf = (bug: PlantedBug): string => {
    const key = keys.get(bug) ?? hash(bug);
    keys.set(bug, key);
    return key;
  };
  return {
    find: (bug) => found.get(keyOf(bug)),
    keep: (bug, verdict) => {
      const finding = { key: keyOf(bug), verdict, commit };
      // One that doesn't fit is mended next, and tried again.
      if (verdict !== "misfit") notebook.add(finding);
      return finding;
    },
  };
}

function hash({ file, find, replace, tests }: PlantedBug): string {
  const sum = createHash("sha256").update(JSON.stringify([file, find, replace, tests]));
  for (const name of [file, ...tests])
    if (statSync(name, { throwIfNoEntry: false })?.isFile()) sum.update(readFileSync(name));
  return sum.digest("hex");
}
