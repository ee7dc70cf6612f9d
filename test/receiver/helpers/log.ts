import { createLog } from "../../../receiver/operations/log.ts";

/** A log that keeps its lines. */
export function recordedLog(level: "info" | "warn" = "info") {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string): void => void lines.push(JSON.parse(line));
  return { lines, log: createLog({ level, destination: { write } }) };
}
