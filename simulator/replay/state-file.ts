import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { z } from "zod";

const stateSchema = z.strictObject({ sources: z.array(z.string()), total: z.int(), done: z.int().min(0) });

export type OpenedState = { ok: true; done: number; state: StateFile } | { ok: false; message: string };

export type StateFile = {
  /** Remembers that the first `done` envelopes are through. */
  save: (done: number) => void;
  /** Forgets everything: the replay has come to its end. */
  remove: () => void;
};

/**
 * How far a replay has come, kept in `path` so that the same command goes on there after any interruption. A file that
 * belongs to another replay is refused.
 */
export function openStateFile(path: string, replay: { sources: string[]; total: number }): OpenedState {
  const kept = read(path);
  if (kept === "broken") {
    return { ok: false, message: `${path} is not the state of a replay: choose another file for --resume.` };
  }
  if (
    kept !== undefined &&
    (kept.total !== replay.total || kept.sources.join("\n") !== replay.sources.join("\n"))
  ) {
    return {
      ok: false,
      message: `${path} belongs to a replay of ${kept.sources.join(" ")} (${kept.total} envelopes): remove it to begin anew.`,
    };
  }
  return {
    ok: true,
    done: kept?.done ?? 0,
    state: {
      save(done) {
        writeFileSync(`${path}.new`, `${JSON.stringify({ ...replay, done })}\n`);
        renameSync(`${path}.new`, path);
      },
      remove: () => rmSync(path, { force: true }),
    },
  };
}

function read(path: string): z.infer<typeof stateSchema> | "broken" | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
  try {
    const parsed = stateSchema.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : "broken";
  } catch {
    return "broken";
  }
}
