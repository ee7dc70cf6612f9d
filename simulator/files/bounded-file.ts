import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { codeOf } from "../text/errors.ts";

/** Largest file that is read (a body, report or secret): `/dev/zero` never ends. */
const MOST_BYTES = 64 * 1024 * 1024;
const PIECE_BYTES = 64 * 1024;

/** A file's bytes, or in a few words why there are none. */
export type FileContent = { ok: true; bytes: Buffer } | { ok: false; reason: string };

/** Reads a file (0: standard input), of at most 64 MiB unless told otherwise; never throws. */
export function readBoundedFile(source: string | number, mostBytes = MOST_BYTES): FileContent {
  let file: number | undefined;
  try {
    if (typeof source === "string" && isNamedPipe(source))
      return { ok: false, reason: "it is a pipe, on which nobody may ever write" };
    file = typeof source === "number" ? source : openSync(source, "r");
    if (fstatSync(file).isDirectory()) return { ok: false, reason: "it is a directory" };
    const pieces: Buffer[] = [];
    for (let total = 0; total <= mostBytes;) {
      const piece = Buffer.alloc(PIECE_BYTES);
      const read = readSync(file, piece);
      if (read === 0) return { ok: true, bytes: Buffer.concat(pieces) };
      pieces.push(piece.subarray(0, read));
      total += read;
    }
    return { ok: false, reason: `it is larger than ${Math.round(mostBytes / 1024)} KiB` };
  } catch (error) {
    return { ok: false, reason: reasonOf(error) };
  } finally {
    if (typeof source === "string" && file !== undefined) closeSync(file);
  }
}

/** Opening a named pipe waits for a writer, and no signal ends that. One that is open already, as `<(…)`, has its writer. */
function isNamedPipe(path: string): boolean {
  return !/^\/(?:dev|proc\/self)\/(?:fd\/|stdin$)/.test(path) && statSync(path).isFIFO();
}

function reasonOf(error: unknown): string {
  const code = codeOf(error) || String(error);
  if (code === "ENOENT" || code === "ENOTDIR") return "there is no such file";
  return code === "EACCES" || code === "EPERM" ? "it may not be read" : `it cannot be read (${code})`;
}
