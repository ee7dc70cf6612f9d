import { live } from "./live.ts";
import { shellWord } from "./curl.ts";

/** Where commands look for a simulator by themselves. */
const USUAL_ORIGINS = new Set(["http://127.0.0.1:4010", "http://localhost:4010"]);

/** The simulator as this user types it: the way it was started. */
export function programName(): string {
  return live.about?.command ?? "voice-agent-simulator";
}

/** A command for this very simulator, that can be pasted into a shell. */
export function commandLine(words: string[]): string {
  const address = USUAL_ORIGINS.has(location.origin) ? [] : ["--simulator", location.origin];
  return [programName(), ...[...words, ...address].map(shellWord)].join(" ");
}
