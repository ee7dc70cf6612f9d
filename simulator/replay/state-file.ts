import { lstatSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { readTextFile } from "../files/bounded-file.ts";
import { jsonOf } from "../domain/exact-json.ts";
import { type Refused, refused } from "../domain/refused.ts";

const OWNER_ONLY = 0o600;
const LARGEST_STATE_BYTES = 1024 * 1024;

const progressSchema = z.strictObject({
  /** How many envelopes are done, from the first on. */
  done: z.int().min(0),
  sent: z.int().min(0).default(0),
  acknowledged: z.int().min(0).default(0),
  outcomes: z.record(z.string(), z.int()).default({}),
  failures: z
    .array(z.strictObject({ eventId: z.string(), outcome: z.union([z.int(), z.string()]) }))
    .default([]),
});
const stateSchema = progressSchema.extend({ sources: z.array(z.string()), total: z.int() });

export type ReplayProgress = z.infer<typeof progressSchema>;

export type StateFile = ReturnType<typeof stateFile>;

/** Keeps the progress of a replay in `path`, until its user removes it. Refuses another replay's file, and links. */
export function openStateFile(
  path: string,
  replay: { sources: string[]; total: number },
): { ok: true; progress: ReplayProgress; state: StateFile } | Refused {
  const kept = read(path);
  if (kept === "broken")
    return refused(`${path} is not the state file of a replay: choose another file for --resume.`);
  if (
    kept !== undefined &&
    kept.done > 0 &&
    (kept.total !== replay.total || kept.sources.join("\n") !== replay.sources.join("\n"))
  ) {
    return refused(
      `${path} belongs to a replay of ${kept.sources.join(" ")} (${kept.total} envelopes): remove it to start again.`,
    );
  }
  const progress = progressSchema.strip().parse(kept ?? { done: 0 });
  return { ok: true, progress, state: stateFile(path, replay) };
}

function stateFile(path: string, replay: object) {
  return {
    save(progress: ReplayProgress): void {
      writeAnew(`${path}.new`, `${JSON.stringify({ ...replay, ...progress })}\n`);
      renameSync(`${path}.new`, path);
    },
  };
}

/** Writes a new file, never through a link; replaces an existing one. */
function writeAnew(path: string, text: string): void {
  rmSync(path, { force: true });
  writeFileSync(path, text, { flag: "wx", mode: OWNER_ONLY });
}

function read(path: string): z.infer<typeof stateSchema> | "broken" | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (!found.isFile()) return "broken";
  const content = readTextFile(path, { name: path, mostBytes: LARGEST_STATE_BYTES });
  const parsed = stateSchema.safeParse(content.ok ? jsonOf(content.text) : undefined);
  return parsed.success ? parsed.data : "broken";
}
