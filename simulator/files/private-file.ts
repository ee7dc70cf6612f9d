import { closeSync, constants, fchmodSync, fstatSync, lstatSync, openSync } from "node:fs";

const OWNER_ONLY = 0o600;
const BITS_OF_OTHERS = 0o077;

/**
 * Makes sure that only its owner can read `path`: creates an empty file where there is none, and removes the permissions of
 * others from one that exists. Answers what is wrong where it is a symbolic link, which might lead anywhere.
 */
export function keepPrivate(path: string): string | undefined {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true)
    return "is a symbolic link, and nothing is written through one: name the file itself.";
  const descriptor = openSync(
    path,
    constants.O_RDONLY | constants.O_CREAT | constants.O_NOFOLLOW,
    OWNER_ONLY,
  );
  try {
    const { mode } = fstatSync(descriptor);
    if ((mode & BITS_OF_OTHERS) !== 0) fchmodSync(descriptor, mode & ~BITS_OF_OTHERS);
  } catch {
    // It is somebody else's, who lets us use it.
  } finally {
    closeSync(descriptor);
  }
  return undefined;
}

/** Whether others than its owner may read or write a file. Windows has no such bits. */
export function isExposed(path: string): boolean {
  const mode = lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  return process.platform !== "win32" && (mode & BITS_OF_OTHERS) !== 0;
}
