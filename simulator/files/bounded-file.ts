import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { decodeText } from "../../shared/text.ts";
import { codeOf } from "../text/errors.ts";

const MOST_BYTES = 64 * 1024 * 1024;
const PIECE_BYTES = 64 * 1024;

export type FileContent = { ok: true; bytes: Buffer } | { ok: false; reason: string; isTooLarge?: true };

/** A file that a shell has opened for us, as `<(…)` or a pipe, and which has a writer. */
const OPENED_BY_SHELL = /^\/(?:dev|proc\/self)\/(?:fd\/|stdin$)/;

/** Reads a regular file (0: standard input), by default of at most 64 MiB; never throws, and never waits for a writer. */
export function readBoundedFile(source: string | number, mostBytes = MOST_BYTES): FileContent {
  const isOpen = typeof source === "number" || OPENED_BY_SHELL.test(source);
  let file: number | undefined;
  try {
    file =
      typeof source === "number"
        ? source
        : openSync(source, isOpen ? constants.O_RDONLY : constants.O_RDONLY | constants.O_NONBLOCK);
    const irregular = isOpen ? undefined : irregularity(fstatSync(file));
    if (irregular !== undefined) return { ok: false, reason: irregular };
    const pieces: Buffer[] = [];
    for (let total = 0; total <= mostBytes;) {
      const piece = Buffer.alloc(PIECE_BYTES);
      const read = readSync(file, piece);
      if (read === 0) return { ok: true, bytes: Buffer.concat(pieces) };
      pieces.push(piece.subarray(0, read));
      total += read;
    }
    const reason = `it is larger than ${Math.round(mostBytes / 1024)} KiB`;
    return { ok: false, reason, isTooLarge: true };
  } catch (error) {
    return { ok: false, reason: reasonOf(error) };
  } finally {
    if (typeof source === "string" && file !== undefined) closeSync(file);
  }
}

/** The same for text; the message is a sentence that begins with `name`. */
export function readTextFile(
  path: string,
  options: { name: string; mostBytes?: number },
): { ok: true; text: string; bytes: Buffer } | { ok: false; message: string } {
  const content = readBoundedFile(path, options.mostBytes);
  if (!content.ok) return { ok: false, message: `${options.name} cannot be read: ${content.reason}.` };
  const decoded = decodeText(content.bytes, options.name);
  return decoded.ok ? { ...decoded, bytes: content.bytes } : decoded;
}

export function irregularity(stats: Stats): string | undefined {
  if (stats.isFile()) return undefined;
  if (stats.isDirectory()) return "it is a directory";
  return stats.isFIFO() ? "it is a pipe" : "it is a device";
}

/** Why the system did not read a file. */
export function reasonOf(error: unknown): string {
  const code = codeOf(error) || String(error);
  if (code === "ENOENT" || code === "ENOTDIR") return "there is no such file";
  return code === "EACCES" || code === "EPERM" ? "it may not be read" : `reading failed (${code})`;
}
