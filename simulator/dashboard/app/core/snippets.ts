import { control } from "./api.ts";
import { live } from "./live.ts";

/** One shell word with any content. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Headers that curl sends by default. */
const CURLS_OWN = new Set(["host", "content-length", "connection"]);

/** An attempt as a command, signed at this moment: the simulator has the secret, and a signature is good for 300 s. */
export async function attemptCurl(deliveryId: string, number: number): Promise<string> {
  const path = `/deliveries/${encodeURIComponent(deliveryId)}/sign` as const;
  const { url, ...request } = await control.post(path, { attempt: number });
  const headers = Object.entries(request.headers)
    .filter(([name]) => !CURLS_OWN.has(name))
    .map(([name, value]) => `-H ${shellWord(`${name}: ${value}`)}`);
  return ["curl -i", ...headers, `--data-binary ${shellWord(request.body)}`, shellWord(url)].join(" \\\n  ");
}

/** A call of the REST API as a command. */
export function apiCurl(path: string, apiKey: string): string {
  const key = apiKey === "" ? [] : [`-H ${shellWord(`Authorization: Bearer ${apiKey}`)}`];
  return ["curl -i", ...key, shellWord(`${location.origin}${path}`)].join(" \\\n  ");
}

/** The default address of the simulator for commands. */
const USUAL_ORIGINS = new Set(["http://127.0.0.1:4010", "http://localhost:4010"]);

/** The simulator as this user types it: the way it was started. */
export function programName(): string {
  return live.about?.command ?? "voice-agent-simulator";
}

/** A command for this simulator, to paste into a shell. */
export function commandLine(words: string[]): string {
  const address = USUAL_ORIGINS.has(location.origin) ? [] : ["--simulator", location.origin];
  return [programName(), ...[...words, ...address].map(shellWord)].join(" ");
}
