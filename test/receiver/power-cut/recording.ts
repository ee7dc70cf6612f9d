import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** One thing that happened, in order: a file was changed or synced, or events were acknowledged. */
export type Step =
  | { kind: "write"; file: string; at: number; bytes: Buffer }
  | { kind: "truncate"; file: string; length: number }
  | { kind: "sync"; file: string }
  | { kind: "acknowledge"; ids: string[] };

const FILES = ["receiver.db", "receiver.db-wal", "receiver.work.db", "receiver.work.db-wal"];

/** Why nothing can be recorded on this machine; undefined when it can. */
export function whyNot(): string | undefined {
  if (process.platform !== "linux") return "strace exists on Linux only";
  const tried = spawnSync("strace", ["-o", "/dev/null", "true"]);
  if (tried.error) return "strace is not installed";
  if (tried.status !== 0) return `strace may not trace here: ${tried.stderr.toString().trim()}`;
  return undefined;
}

/** Runs the life of both files under strace and answers what reached the kernel. */
export function record(options: {
  directory: string;
  variant: "as-is" | "inbox-normal" | "unsynced-retention";
  batches: number;
}): Step[] {
  const trace = join(options.directory, "trace.txt");
  const script = fileURLToPath(new URL("./recorded.ts", import.meta.url));
  const database = join(options.directory, "receiver.db");
  // The main thread alone: that is where the database is. Node strips the types itself.
  const calls = "trace=pwrite64,write,ftruncate,fsync,fdatasync";
  const words = [
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
  spawnSync("strace", [...words, script, database, options.variant, String(options.batches)], {
    stdio: "ignore",
  });
  return readFileSync(trace, "latin1")
    .split("\n")
    .flatMap((line) => parseCall(line, options.directory));
}

function parseCall(line: string, directory: string): Step[] {
  const [, call, descriptor, path = "", rest = ""] = /^(\w+)\((\d+)<([^>]*)>(.*)\s+= \d+$/.exec(line) ?? [];
  if (call === undefined) return [];
  const file = unescape(path);
  if (call === "write" && descriptor === "1") {
    const text = bytesOf(rest).toString();
    return text.startsWith("ACKNOWLEDGED ")
      ? [{ kind: "acknowledge", ids: text.trim().split(" ").slice(1) }]
      : [];
  }
  // Both databases and their WALs. The shared memory is rebuilt when they are opened, and a rollback journal exists only
  // while the schema is made.
  if (!FILES.some((name) => file === `${directory}/${name}`)) return [];
  if (call === "fsync" || call === "fdatasync") return [{ kind: "sync", file }];
  if (call === "ftruncate") return [{ kind: "truncate", file, length: Number(/, (\d+)\)/.exec(rest)?.[1]) }];
  if (call === "pwrite64")
    return [{ kind: "write", file, at: Number(/, (\d+)\)$/.exec(rest)?.[1]), bytes: bytesOf(rest) }];
  return [];
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
