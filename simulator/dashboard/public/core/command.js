import { live } from "./live.js";
import { shellWord } from "./curl.js";

const DEFAULT_ORIGIN = "http://127.0.0.1:4010";

/** A command of the simulator as this user would type it: with the name it was started by, and its address if unusual. */
export function commandLine(words) {
  const started = live.about?.command ?? "voice-agent-simulator";
  const isUsual = [DEFAULT_ORIGIN, "http://localhost:4010"].includes(location.origin);
  const address = isUsual ? [] : ["--simulator", location.origin];
  return [started, ...[...words, ...address].map(shellWord)].join(" ");
}
