import { closeSync, constants, fchmodSync, fstatSync, openSync, statSync } from "node:fs";
import type { Log } from "./log.ts";

const BITS_OF_OTHERS = 0o077;

/** Of database files and what SQLite keeps beside them, those that others than their owner may read or write. */
export function exposedFiles(files: readonly string[]): string[] {
  // Windows has no such bits.
  if (process.platform === "win32") return [];
  return files
    .flatMap((file) => [file, `${file}-wal`, `${file}-shm`])
    .filter((file) => ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & BITS_OF_OTHERS) !== 0);
}

/** Mends what others than their owner may read of these files, and says so in the log. */
export function protectFiles(files: readonly string[], log: Log): void {
  for (const file of exposedFiles(files))
    log.warn({ file, mended: makePrivate(file) }, "others than its owner could read this file");
}

/** Takes from everybody but its owner what they may do with a file. Answers whether that could be done. */
function makePrivate(file: string): boolean {
  try {
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      fchmodSync(descriptor, fstatSync(descriptor).mode & ~BITS_OF_OTHERS);
    } finally {
      closeSync(descriptor);
    }
    return true;
  } catch {
    // It is somebody else's, or has just gone.
    return false;
  }
}
