import { readBoundedFile } from "../files/bounded-file.ts";
import { usageError } from "./command-error.ts";

/** A body to sign or to examine, byte for byte, and where it came from. */
export type BodyInput = { bytes: Buffer; file: string | undefined };

/** Reads a body from `--body`, a file, or, with `-` or no file, from standard input. */
export function readBodyInput(file: string | undefined, text: string | undefined): BodyInput {
  if (text !== undefined) {
    if (file === undefined) return { bytes: Buffer.from(text), file: undefined };
    throw usageError("Give the body once: as a file, or with --body.");
  }
  if (file === undefined || file === "-") {
    if (file === undefined && process.stdin.isTTY)
      throw usageError("No body: name a file, pipe it in, or use --body.");
    return { bytes: readFile(0, "standard input"), file: undefined };
  }
  return { bytes: readFile(file, file), file };
}

function readFile(source: string | number, name: string): Buffer {
  const content = readBoundedFile(source);
  if (content.ok) return content.bytes;
  throw usageError(`Cannot read ${name}: ${content.reason}.`);
}
