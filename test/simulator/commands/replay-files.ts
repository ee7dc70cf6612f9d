import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { sampleEnvelope } from "../../../shared/samples.ts";
import { temporaryDirectory } from "../../helpers/simulator.ts";
import { run } from "./in-process.ts";

export const SECRET = "whsec_test";

/** Runs `replay` against an address. */
export const replayTo = (url: string, ...args: string[]) =>
  run("replay", ...args, "--to", url, "--secret", SECRET);

export function envelopes(count: number) {
  return Array.from({ length: count }, (_, index) => {
    const id = `evt_${index.toString(16).padStart(32, "0")}`;
    return sampleEnvelope("call.completed", { id, note: `é ${index}` });
  });
}

export function writeJsonLines(count: number): string {
  const file = join(temporaryDirectory(), "inbox.jsonl");
  const lines = envelopes(count).map((envelope) => `${JSON.stringify(envelope)}\n`);
  writeFileSync(file, lines.join(""));
  return file;
}

export function idsOf(endpoint: { received: { body: Buffer }[] }): string[] {
  return endpoint.received.map(({ body }) => (JSON.parse(body.toString()) as { id: string }).id);
}
