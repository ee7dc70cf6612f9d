import { irregularity } from "./bounded-file.ts";
import { closeSync, constants, fchmodSync, fstatSync, lstatSync, openSync, readSync } from "node:fs";

const OWNER_ONLY = 0o600;
const BITS_OF_OTHERS = 0o077;

/** Where SQLite has the version of a database's tables in its file. */
const VERSION_AT = 60;

/**
 * Makes sure that only its owner can read `path`: creates an empty file where there is none, and removes the permissions of
 * others from one that is empty or has tables of `version`, since any other may be another program's. Returns why a path is not a regular file, as words after its name; a symbolic
 * link might lead anywhere, and a device has permissions of its own.
 */
export function keepPrivate(path: string, version: number): string | undefined {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true)
    return "is a symbolic link: name the file itself.";
  const descriptor = openSync(
    path,
    constants.O_RDONLY | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    OWNER_ONLY,
  );
  try {
    const stats = fstatSync(descriptor);
    const irregular = irregularity(stats);
    if (irregular !== undefined) return `cannot hold a database: ${irregular}. Name a regular file.`;
    const { mode, size } = stats;
    const isOurs = size === 0 || versionIn(descriptor) === version;
    if (isOurs && (mode & BITS_OF_OTHERS) !== 0) fchmodSync(descriptor, mode & ~BITS_OF_OTHERS);
  } catch {
    // The file belongs to another user, who gave us access.
  } finally {
    closeSync(descriptor);
  }
  return undefined;
}

function versionIn(descriptor: number): number {
  const bytes = Buffer.alloc(4);
  readSync(descriptor, bytes, 0, 4, VERSION_AT);
  return bytes.readUInt32BE();
}
