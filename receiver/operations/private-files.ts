import { closeSync, constants, fchmodSync, fstatSync, openSync, statSync } from "node:fs";
import type { Log } from "./log.ts";

/** Rights of everybody but the owner. */
const BITS_OF_OTHERS = 0o077;

/** The database files, and what SQLite keeps beside them, that others than their owner may read or write. */
export function exposedFiles(files: readonly string[]): string[] {
  return filesWith(
    BITS_OF_OTHERS,
    files.flatMap((file) => [file, `${file}-wal`, `${file}-shm`]),
  );
}

/** Those of the files that are there and give one of these rights. Windows has no such bits. */
export function filesWith(bits: number, files: readonly string[]): string[] {
  if (process.platform === "win32") return [];
  return files.filter((file) => ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & bits) !== 0);
}

/** Takes the rights of others than the owner from these files, and says so in the log. */
export function protectFiles(files: readonly string[], log: Log): void {
  for (const file of exposedFiles(files))
    log.warn({ file, mended: makePrivate(file) }, "others than its owner could read this file");
}

/** Takes every right to a file from all but its owner. Answers false where it belongs to somebody else, or has just gone. */
function makePrivate(file: string): boolean {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
    fchmodSync(descriptor, fstatSync(descriptor).mode & ~BITS_OF_OTHERS);
    return true;
  } catch {
    return false;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
