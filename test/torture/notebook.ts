import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { ZodType } from "zod";

/**
 * What long runs have seen, a line of JSON each, so that one that was stopped goes on where it was. It lies in the user's
 * cache folder, which outlives `npm ci` and is the same for every checkout, and only ever grows: several may write at once.
 */
export function createNotebook<Entry>(
  name: string,
  schema: ZodType<Entry>,
  folder = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "voice-agent-webhook-kit"),
): { file: string; read: () => Entry[]; add: (entry: Entry) => void } {
  const file = join(folder, `${name}.jsonl`);
  return {
    file,
    read: () => (existsSync(file) ? readFileSync(file, "utf8").split("\n").flatMap(entryOf) : []),
    add: (entry) => {
      mkdirSync(dirname(file), { recursive: true });
      appendFileSync(file, `${JSON.stringify(entry)}\n`);
    },
  };

  /** None, where the line was cut off or is of another version. */
  function entryOf(line: string): Entry[] {
    try {
      const parsed = schema.safeParse(JSON.parse(line));
      return parsed.success ? [parsed.data] : [];
    } catch {
      return [];
    }
  }
}
