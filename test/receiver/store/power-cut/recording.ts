import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** One recorded step: a file was changed or synced, or events were acknowledged. */
export type Step =
  | { kind: "write"; file: string; at: number; bytes: Buffer }
  | { kind: "truncate"; file: string; length: number }
  /** `covered`: how many steps were done when the sync began. Later writes are not covered. */
  | { kind: "sync"; file: string; covered: number }
  | { kind: "acknowledge"; ids: string[] };

const FILES = ["receiver.db", "receiver.db-wal"];

/** Why nothing can be recorded on this machine; undefined if it can. */
export function whyNot(): string | undefined {
  if (process.platform !== "linux") return "strace exists on Linux only";
  const tried = spawnSync("strace", ["-o", "/dev/null", "true"]);
  if (tried.error) return "strace is not installed";
  if (tried.status !== 0) return `strace may not trace here: ${tried.stderr.toString().trim()}`;
  return undefined;
}

/** Runs the recorded program under strace and returns what its threads passed to the kernel. */
export async function record(options: {
  directory: string;
  variant: "as-is" | "no-sync" | "joined-sync" | "worker-off";
  batches: number;
}): Promise<Step[]> {
  const trace = join(options.directory, "trace.txt");
  const script = fileURLToPath(new URL("./recorded.ts", import.meta.url));
  const database = join(options.directory, "receiver.db");
  const calls = "trace=pwrite64,write,ftruncate,fsync,fdatasync";
  const words = [
    "-f",
    "--seccomp-bpf",
    "-y",
    "-xx",
    "-s",
    "100000",
    "-e",
    calls,
    "-e",
    "signal=none",
    "-o",
    trace,
    process.execPath,
  ];
  const child = spawn("strace", [...words, script, database, options.variant, String(options.batches)], {
    stdio: "ignore",
  });
  await once(child, "exit");
  const steps: Step[] = [];
  /** Started and unfinished calls by thread, with the number of steps at their start. */
  const open = new Map<string, { begun: string; covered: number }>();
  for (const line of readFileSync(trace, "latin1").split("\n")) {
    const [, thread = "", text = ""] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    const [, begun] = /^(.*) <unfinished \.\.\.>$/.exec(text) ?? [];
    if (begun !== undefined) {
      open.set(thread, { begun, covered: steps.length });
      continue;
    }
    const [, rest] = /^<\.\.\. \w+ resumed>(.*)$/.exec(text) ?? [];
    const started = rest === undefined ? undefined : open.get(thread);
    const call = started ? started.begun + (rest ?? "") : text;
    const step = parseCall(call, options.directory, started?.covered ?? steps.length);
    if (step) steps.push(step);
  }
  return steps;
}

function parseCall(line: string, directory: string, covered: number): Step | undefined {
  const [, call, descriptor, path = "", rest = ""] = /^(\w+)\((\d+)<([^>]*)>(.*)\s*= \d+$/.exec(line) ?? [];
  if (call === undefined) return undefined;
  const file = unescape(path);
  if (call === "write" && descriptor === "1") {
    const text = bytesOf(rest).toString();
    return text.startsWith("ACKNOWLEDGED ")
      ? { kind: "acknowledge", ids: text.trim().split(" ").slice(1) }
      : undefined;
  }
  // Only the database and its log: SQLite rebuilds the shared memory when it opens them.
  if (!FILES.some((name) => file === `${directory}/${name}`)) return undefined;
  if (call === "fsync" || call === "fdatasync") return { kind: "sync", file, covered };
  if (call === "ftruncate") return { kind: "truncate", file, length: Number(/, (\d+)\)/.exec(rest)?.[1]) };
  return { kind: "write", file, at: Number(/, (\d+)\)\s*$/.exec(rest)?.[1]), bytes: bytesOf(rest) };
}

function unescape(path: string): string {
  return path.replaceAll(/\\x([0-9a-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

function bytesOf(rest: string): Buffer {
  const hex = /"((?:\\x[0-9a-f]{2})*)"/.exec(rest)?.[1] ?? "";
  return Buffer.from(hex.replaceAll("\\x", ""), "hex");
}
